"""What a host has said so far, so that a new process can go on where the last one has ended.

Pure: it takes messages and returns messages.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from wigwag.jsonrpc.codec import decode_message, encode_error, encode_notification
from wigwag.jsonrpc.codes import INTERNAL_ERROR
from wigwag.jsonrpc.messages import (
    ErrorResponse,
    Notification,
    Request,
    RequestId,
    Response,
)
from wigwag.schema.basic import SUBSCRIPTION_ID_KEY
from wigwag.schema.methods import (
    INITIALIZE,
    NOTIFICATIONS_CANCELLED,
    NOTIFICATIONS_INITIALIZED,
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    SUBSCRIPTIONS_LISTEN,
)

__all__ = ["KeptConversation"]

# What a server declares, what one listens for, and what is then told.
_LISTS: Final = (
    ("tools", "toolsListChanged", NOTIFICATIONS_TOOLS_LIST_CHANGED),
    ("prompts", "promptsListChanged", NOTIFICATIONS_PROMPTS_LIST_CHANGED),
    ("resources", "resourcesListChanged", NOTIFICATIONS_RESOURCES_LIST_CHANGED),
)


class KeptConversation:
    """The conversation of a host with one server process after the other."""

    def __init__(self) -> None:
        self._asked: dict[RequestId, tuple[str, bytes]] = {}
        self._questions: set[RequestId] = set()
        self._greeting: tuple[RequestId, bytes] | None = None
        self._initialized: bytes | None = None
        # What a new process was sent again: the host has its answer already.
        self._repeated: set[RequestId] = set()
        self._is_ending = False

    def host_says(self, line: bytes) -> bool:
        """Take a message of the host; tell whether the server there is at the moment gets it."""
        match decode_message(line):
            case Request(id=request_id, method=method):
                self._asked[request_id] = (method, line)
                if method == INITIALIZE:
                    self._greeting, self._initialized = (request_id, line), None
            case Notification(method=method) if method == NOTIFICATIONS_INITIALIZED:
                self._initialized = line
            case Notification(method=method, params=params) if method == NOTIFICATIONS_CANCELLED:
                for about in _cancelled(params):
                    self._asked.pop(about, None)
            case Response(id=request_id) | ErrorResponse(id=request_id):
                if request_id not in self._questions:
                    return False  # a server that is gone has asked
                self._questions.discard(request_id)
            case _:
                pass
        return True

    def server_says(self, line: bytes) -> list[bytes]:
        """Take a message of the server, and return what the host gets."""
        match decode_message(line):
            case Request(id=request_id):
                if request_id is not None:
                    self._questions.add(request_id)
            case Response(id=request_id, result=result) if request_id in self._repeated:
                self._repeated.discard(request_id)
                return _changes_declared(result)
            case Response(id=request_id) | ErrorResponse(id=request_id) if request_id is not None:
                if self._is_ending and self._is_listening(request_id):
                    return []  # the next one goes on with it
                self._asked.pop(request_id, None)
            case Notification(method=method, params=params):
                if method == NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED:
                    return self._acknowledged(line, params)
                if method == NOTIFICATIONS_CANCELLED and self._is_ending:
                    is_replaced = any(map(self._is_listening, _cancelled(params)))
                    return [] if is_replaced else [line]
            case _:
                pass
        return [line]

    def server_is_to_end(self) -> None:
        """Learn that the server is about to be replaced."""
        self._is_ending = True

    def server_has_ended(self, reason: str) -> list[bytes]:
        """Learn that there is no server any more, and return the answers that it owes.

        Args:
            reason: Why, for whoever had asked.
        """
        kept = {SUBSCRIPTIONS_LISTEN, INITIALIZE} if self._is_ending else {SUBSCRIPTIONS_LISTEN}
        owed = [each for each, (method, _) in self._asked.items() if method not in kept]
        for each in owed:
            del self._asked[each]
        self._questions.clear()
        self._repeated.clear()
        self._is_ending = False
        return [encode_error(each, INTERNAL_ERROR, reason) for each in owed]

    def server_has_begun(self) -> list[bytes]:
        """Learn that there is a new server, and return what it is to hear first."""
        said: list[bytes] = []
        if self._greeting is not None:
            request_id, line = self._greeting
            said.append(line)
            if request_id not in self._asked:
                self._repeated.add(request_id)
            if self._initialized is not None:
                said.append(self._initialized)
        for request_id, (method, line) in self._asked.items():
            if method == SUBSCRIPTIONS_LISTEN:
                self._repeated.add(request_id)
                said.append(line)
        return said

    def _is_listening(self, request_id: RequestId) -> bool:
        return self._asked.get(request_id, ("",))[0] == SUBSCRIPTIONS_LISTEN

    def _acknowledged(self, line: bytes, params: Any) -> list[bytes]:
        told = msgspec.json.decode(params)
        subscription = told.get("_meta", {}).get(SUBSCRIPTION_ID_KEY)
        if subscription not in self._repeated:
            return [line]
        self._repeated.discard(subscription)
        meta = msgspec.json.encode({"_meta": {SUBSCRIPTION_ID_KEY: subscription}})
        agreed = told.get("notifications", {})
        return [encode_notification(method, meta) for _, name, method in _LISTS if agreed.get(name)]


def _cancelled(params: Any) -> list[RequestId]:
    """Return the request that is cancelled, if that can be told."""
    told = msgspec.json.decode(params) if isinstance(params, msgspec.Raw) else None
    about = told.get("requestId") if isinstance(told, dict) else None
    return [about] if isinstance(about, int | str) else []


def _changes_declared(result: bytes) -> list[bytes]:
    """Return the news of a server that has begun: that its lists may be others now."""
    capabilities = msgspec.json.decode(result).get("capabilities", {})
    return [
        encode_notification(method, None)
        for name, _, method in _LISTS
        if capabilities.get(name, {}).get("listChanged")
    ]

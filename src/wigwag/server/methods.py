"""Methods of requests and notifications that MCP does not know: a server's own, and of extensions.

Spec: basic#extensions
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codec import encode_value
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.protocol.events import NotificationReceived, RequestReceived
from wigwag.protocol.server import Members
from wigwag.runtime.dispatch import Dispatch, Outcome
from wigwag.runtime.failures import without_leaving
from wigwag.schema import (
    METHODS,
    NOTIFICATIONS_INITIALIZED,
    NOTIFICATIONS_ROOTS_LIST_CHANGED,
    InputRequiredResult,
)
from wigwag.server.annotations.plain_schema import encode_hook
from wigwag.server.context import Context
from wigwag.server.functions import Function
from wigwag.server.parameters.signature import ArgumentsRefused, Parameters
from wigwag.server.results.tool_results import InvalidOutput

if TYPE_CHECKING:
    from wigwag.server.features import Owner


# What the protocol itself reads in the params of any request.
_OF_THE_PROTOCOL: Final = ("_meta", "inputResponses", "requestState")
# What MCP has and the protocol does nothing with.
_HEARD: Final = (NOTIFICATIONS_INITIALIZED, NOTIFICATIONS_ROOTS_LIST_CHANGED)
_RESERVED: Final = ("_meta", "resultType")


def check_method(name: str) -> None:
    """See to it that a method is one that a server may call its own.

    Raises:
        ValueError: It is not; the text says why.
    """
    if name in METHODS:
        raise ValueError(f"{name} is a method of MCP: the server serves it by itself")
    if "/" not in name.strip("/"):
        raise ValueError(f"a method has a name of its own: com.example/{name}, not {name!r}")


def check_notification(name: str) -> None:
    """See to it that a notification is one that a server may want to hear of.

    Raises:
        ValueError: It is not; the text says why.
    """
    if name in METHODS and name not in _HEARD:
        raise ValueError(f"{name} is a method of MCP: the server takes it by itself")
    if name not in METHODS:
        check_method(name)


class Method:
    """A method of requests, or of notifications, and the function that serves it.

    Args:
        name: The method.
        owner: The server that it belongs to.
        function: What serves it: its parameters are the members of the params.
    """

    def __init__(self, name: str, owner: Owner, function: Function[Parameters]) -> None:
        self.name = name
        self._owner = owner
        self._function = function

    async def serve(
        self, request: RequestReceived, connection: Dispatch, context: Context[Any] | None = None
    ) -> Outcome:
        """Answer a request.

        Raises:
            RequestFailed: The params are not what the function takes.
        """
        context = context or Context(self._owner, connection, request)
        params = msgspec.json.decode(request.source, type=_Message).params
        arguments = self._read(params)
        run = partial(self._function.run, arguments, context)
        value = await without_leaving(context.serve(run))
        return value if isinstance(value, InputRequiredResult) else self._to_members(value)

    async def hear(self, notification: NotificationReceived, context: Context[Any]) -> None:
        """Take a notification.

        Raises:
            RequestFailed: The params are not what the function takes.
        """
        source = notification.source
        params = UNSET if source is UNSET else msgspec.json.decode(source, type=dict[str, Raw])
        await self._function.run(self._read(params), context)

    def _read(self, params: Mapping[str, Raw] | UnsetType) -> Any:
        members = {} if params is UNSET else dict(params)
        for name in _OF_THE_PROTOCOL:
            members.pop(name, None)
        try:
            return self._function.parameters.read(encode_value(members))
        except ArgumentsRefused as error:
            message = f"Invalid params for {self.name}: {error}"
            raise RequestFailed(INVALID_PARAMS, message) from None

    def _to_members(self, value: Any) -> Members:
        """Encode what the function returned: the members of a result.

        Raises:
            InvalidOutput: It has no members.
        """
        if value is None:
            return ()
        try:
            encoded = msgspec.json.encode(value, enc_hook=encode_hook)
        except (TypeError, NotImplementedError, ValueError, RecursionError) as error:
            raise InvalidOutput(
                f"JSON has no form for the result of {self.name}: {error}"
            ) from None
        if not encoded.startswith(b"{"):
            raise InvalidOutput(
                f"it returned {type(value).__name__}, but a result is an object: return a dict, a "
                "dataclass or a model"
            )
        if any(b'"%b"' % name.encode() in encoded for name in _RESERVED):
            taken = [name for name in _RESERVED if name in msgspec.json.decode(encoded)]
            if taken:
                raise InvalidOutput(
                    f"{taken[0]!r} in the result of {self.name} is the server's own"
                )
        return () if encoded == b"{}" else (encoded[1:-1],)


class _Message(Struct, frozen=True):
    params: dict[str, Raw] | UnsetType = UNSET

"""Judges messages on the wire by the facts about the published schemas, and by nothing of ours.

`WireValidator` judges a message whose revision and sender are known; `Conversation` watches both
directions of a connection and finds them out by itself. Besides what the schemas demand, a member
that belongs to another revision is a problem: it should have been left out.
"""

import json
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from tests.facts.table import REVISIONS, Const, Object, Ref, Type, definitions
from tests.facts.values import Place, check, is_integer, members_of, options_of

Side: TypeAlias = Literal["client", "server"]
Json: TypeAlias = Any
Message: TypeAlias = dict[str, Any]

MODERN = REVISIONS[-1:]
LEGACY = REVISIONS[:-1]
_BATCHES = ("2025-03-26",)
# Until 2025-06-18 an error had to have an id, even where there was none to be read.
_ID_IN_EVERY_ERROR = REVISIONS[:3]
_UNREADABLE = (-32700, -32600)
_TASKS = "2025-11-25"
_VERSION = "io.modelcontextprotocol/protocolVersion"
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_EXCERPT = 200


class WireValidator:
    """Judges messages one by one.

    Args:
        extensions: Methods and result types of extensions, which are let through unread.
    """

    def __init__(self, *, extensions: Collection[str] = ()) -> None:
        self._extensions = extensions

    def validate_message(
        self, data: bytes, *, revision: str, sender: Side, answers: str | None = None
    ) -> list[str]:
        """Return what is wrong with a message; nothing, if nothing is.

        Args:
            data: The message, or a batch of messages.
            revision: The revision that is spoken.
            sender: The side that sent it.
            answers: The method of the request that it answers, if it is a response to a known one.
        """
        try:
            value = parse(data)
        except ValueError as error:
            return [f"no JSON: {error}"]
        if not isinstance(value, list):
            return self.validate(value, revision=revision, sender=sender, answers=answers)
        problems = list(batch_problems(value, revision))
        for number, message in enumerate(value):
            found = self.validate(message, revision=revision, sender=sender, answers=answers)
            problems += [f"[{number}] {problem}" for problem in found]
        return problems

    def validate(
        self, message: Json, *, revision: str, sender: Side, answers: str | None = None
    ) -> list[str]:
        """Do the same for one message that has been parsed."""
        if not isinstance(message, dict):
            return ["is no object"]
        problems = list(_envelope_problems(message, revision))
        if problems:
            return problems
        if "method" in message:
            return list(self._method_problems(message, revision, sender))
        if sender == "client" and revision in MODERN:
            return ["a modern client sends no responses"]
        if "error" in message:
            return list(_error_data_problems(message, revision))
        return [] if answers is None else list(self._result_problems(message, revision, answers))

    def _method_problems(self, message: Message, revision: str, sender: Side) -> Iterator[str]:
        method = message["method"]
        kind = "Request" if "id" in message else "Notification"
        name = _definition_of(method, revision)
        if method in self._extensions:
            return
        if name is None:
            yield f"{method} does not exist"
            return
        if not name.endswith(kind):
            yield f"{method} is no {kind.lower()}"
            return
        if name not in _allowed(sender, kind, revision):
            yield f"a {sender} sends no {method}"
        yield from check(message, Ref(name), Place(revision))
        yield from _meta_problems(message, name, revision)

    def _result_problems(self, message: Message, revision: str, method: str) -> Iterator[str]:
        name = _definition_of(method, revision)
        result = message["result"]
        if name is None or method in self._extensions:
            return
        place = Place(revision).member("result")
        if revision in MODERN:
            yield from self._modern_result_problems(result, name, place)
            return
        type_ = name.removesuffix("Request") + "Result"
        if type_ not in definitions(revision):
            type_ = "EmptyResult"
            if set(result) - {"_meta"}:
                yield f"result: has {sorted(result)} and should be empty"
        elif "task" in result and revision == _TASKS and _may_be_task(name):
            type_ = "CreateTaskResult"
        yield from check(result, Ref(type_), place)

    def _modern_result_problems(self, result: Message, name: str, place: Place) -> Iterator[str]:
        response = name.removesuffix("Request") + "ResultResponse"
        options = options_of(members_of(Ref(response), place.revision)["result"].type)
        kind = result.get("resultType")
        question = Ref("InputRequiredResult")
        if kind in self._extensions:
            return
        if kind == "input_required" and question in options:
            yield from check(result, question, place)
            if not {"inputRequests", "requestState"} & set(result):
                yield "result: asks for input, and not for which"
            if hints := {"ttlMs", "cacheScope"} & set(result):
                yield f"result: asks for input, and has {sorted(hints)}"
            return
        if kind not in ("complete", None):
            yield f"result.resultType: {kind!r} is no type of this result"
        for option in options:
            if option != question:
                yield from check(result, option, place)


def parse(data: bytes) -> Json:
    """Parse JSON, strictly.

    Raises:
        ValueError: It is none, or has a member twice.
    """
    return json.loads(data.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_unique)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is there twice")
    return members


# --- Envelopes ---


def batch_problems(values: list[Json], revision: str) -> Iterator[str]:
    """Tell what is wrong with a batch as a whole."""
    if revision not in _BATCHES:
        yield "is a batch, which this revision does not have"
    if not values:
        yield "is an empty batch"
    if any(isinstance(value, dict) and value.get("method") == "initialize" for value in values):
        yield "initialize is inside a batch"


def _envelope_problems(message: Message, revision: str) -> Iterator[str]:
    if message.get("jsonrpc") != "2.0":
        yield "jsonrpc: is not 2.0"
    kinds = [member for member in ("method", "result", "error") if member in message]
    if kinds == ["error"]:
        yield from _error_problems(message, revision)
        return
    if len(kinds) != 1:
        yield f"has {kinds} and should have one of method, result and error"
        return
    if not is_id(message.get("id", 0)):
        yield f"id: {message['id']!r} is no id"
    if kinds == ["method"]:
        if not isinstance(message["method"], str):
            yield "method: is no string"
        if not isinstance(message.get("params", {}), dict):
            yield "params: is no object"
        return
    if "id" not in message:
        yield "id: is missing"
    if not isinstance(message["result"], dict):
        yield "result: is no object"


def _error_problems(message: Message, revision: str) -> Iterator[str]:
    error = message["error"] if isinstance(message["error"], dict) else {}
    code = error.get("code")
    if not is_integer(code):
        yield f"error.code: {code!r} is no integer"
    if not isinstance(error.get("message"), str):
        yield "error.message: is no string"
    if is_id(message.get("id")):
        return
    may_be_missing = revision not in _ID_IN_EVERY_ERROR or code in _UNREADABLE
    may_be_null = revision in _ID_IN_EVERY_ERROR and code in _UNREADABLE
    if not may_be_missing and "id" not in message:
        yield "id: is missing"
    elif "id" in message and not (may_be_null and message["id"] is None):
        yield f"id: {message['id']!r} is no id"


def _error_data_problems(message: Message, revision: str) -> Iterator[str]:
    # Whoever refuses a revision does so in one of its own.
    for candidate in (revision, *REVISIONS):
        name = _errors(candidate).get(message["error"]["code"])
        if name is not None:
            yield from check(message, Ref(name), Place(candidate))
            return


@cache
def _errors(revision: str) -> dict[int, str]:
    """Return the definitions of errors with an envelope, by their code."""
    found = {}
    for name in definitions(revision):
        error = members_of(Ref(name), revision).get("error")
        code = members_of(error.type, revision).get("code") if error else None
        if code is not None and isinstance(code.type, Const):
            found[code.type.value] = name
    return found


def is_id(value: Json) -> bool:
    """Tell whether a value may be the id of a request."""
    return isinstance(value, str | int) and not isinstance(value, bool)


# --- Methods ---


@cache
def _definition_of(method: str, revision: str) -> str | None:
    for name in definitions(revision):
        member = members_of(Ref(name), revision).get("method")
        is_union = name.startswith(("Client", "Server"))
        if member is not None and member.type == Const(method) and not is_union:
            return name
    return None


@cache
def _allowed(sender: Side, kind: str, revision: str) -> set[str | None]:
    union = definitions(revision).get(f"{sender.capitalize()}{kind}")
    if isinstance(union, Object):
        method = union.members["method"].type
        assert isinstance(method, Const)
        return {_definition_of(method.value, revision)}
    return (
        {option.name for option in options_of(union) if isinstance(option, Ref)} if union else set()
    )


def _may_be_task(name: str) -> bool:
    params = members_of(Ref(name), _TASKS)["params"].type
    return any("task" in members_of(variant, _TASKS) for variant in _variants(params))


def _variants(type_: Type) -> Iterator[Type]:
    definition = definitions(_TASKS)[type_.name] if isinstance(type_, Ref) else type_
    yield from options_of(definition)


def _meta_problems(message: Message, name: str, revision: str) -> Iterator[str]:
    """Judge the `_meta` that every message may have, where its definition does not repeat it."""
    params = message.get("params")
    if not isinstance(params, dict) or "_meta" not in params or revision in MODERN:
        return
    known = members_of(Ref(name), revision).get("params")
    if known is not None and any(
        "_meta" in members_of(v, revision) for v in options_of(known.type)
    ):
        return
    base = "Request" if "id" in message else "Notification"
    described = members_of(Ref(base), revision)["params"].type
    meta = members_of(described, revision).get("_meta")
    place = Place(revision, ((name, ("params", "_meta")),), "params._meta")
    yield from check(params["_meta"], meta.type if meta else Object({}), place)


# --- Conversations ---


class _Request(NamedTuple):
    method: str
    revision: str


_Key: TypeAlias = tuple[Side, str]


class Conversation:
    """Watches the messages of one connection, in both directions, and collects what is wrong.

    Tell it of every message with `saw`; in the end `problems` should be empty. It finds out which
    revision is spoken: a modern request says so, a response has the revision of its request, and
    everything else has that which `initialize` has agreed upon.

    Args:
        revision: The revision of a connection whose handshake it does not see.
        extensions: Methods and result types of extensions, which are let through unread.
    """

    def __init__(self, *, revision: str | None = None, extensions: Collection[str] = ()) -> None:
        self.problems: list[str] = []
        self.revision = revision
        """What has been agreed upon, if anything has."""
        self._validator = WireValidator(extensions=extensions)
        self._in_flight: dict[_Key, _Request] = {}
        self._used: set[_Key] = set()
        self._cancelled: set[_Key] = set()
        self._tokens: dict[_Key, str] = {}
        self._progress: dict[_Key, float] = {}
        self._deliberate: dict[Side, int] = {"client": 0, "server": 0}
        self._has_modern_requests = False

    @property
    def unanswered(self) -> list[str]:
        """The methods of the requests that were neither answered nor cancelled."""
        keys = self._in_flight.keys() - self._cancelled
        return [request.method for key, request in self._in_flight.items() if key in keys]

    def expect_invalid(self, sender: Side, *, messages: int = 1) -> None:
        """Say that the next messages of a side are malformed on purpose.

        If they turn out to be fine, that is a problem.
        """
        self._deliberate[sender] += messages

    def saw(self, sender: Side, data: bytes) -> None:
        """Take note of a message."""
        found = list(self._judge(sender, data))
        if self._deliberate[sender]:
            self._deliberate[sender] -= 1
            found = [] if found else ["should have been malformed"]
        excerpt = data[:_EXCERPT].decode("utf-8", "replace")
        self.problems += [f"{sender}: {problem} -- {excerpt}" for problem in found]

    def _judge(self, sender: Side, data: bytes) -> Iterator[str]:
        try:
            value = parse(data)
        except ValueError as error:
            yield f"no JSON: {error}"
            return
        if isinstance(value, list):
            yield from batch_problems(value, self._usual_revision)
        for message in value if isinstance(value, list) else [value]:
            if isinstance(message, dict) and "method" not in message:
                yield from self._judge_response(sender, message)
            else:
                yield from self._judge_method(sender, message)

    def _judge_response(self, sender: Side, message: Message) -> Iterator[str]:
        key = _key(_other(sender), message.get("id"))
        request = self._in_flight.pop(key, None)
        if request is None:
            yield from self._validator.validate(
                message, revision=self._usual_revision, sender=sender
            )
            if key in self._used:
                yield "answers a second time"
            elif "result" in message or is_id(message.get("id")):
                yield "answers what was not asked"
            return
        revision = request.revision
        if request.method == "initialize" and isinstance(message.get("result"), dict):
            agreed = message["result"].get("protocolVersion")
            if agreed in LEGACY:
                revision = self.revision = agreed
            else:
                yield f"initialize has agreed upon {agreed!r}"
        yield from self._validator.validate(
            message, revision=revision, sender=sender, answers=request.method
        )

    def _judge_method(self, sender: Side, message: Json) -> Iterator[str]:
        revision = self._revision_of(sender, message)
        yield from self._validator.validate(message, revision=revision, sender=sender)
        if not isinstance(message, dict):
            return
        if "id" in message:
            yield from self._note_request(sender, message, revision)
        else:
            yield from self._note_notification(sender, message)

    def _note_request(self, sender: Side, message: Message, revision: str) -> Iterator[str]:
        key = _key(sender, message["id"])
        if not is_id(message["id"]):
            return
        if key in self._in_flight and not (revision in MODERN and key in self._cancelled):
            yield "id: belongs to another request in flight"
        elif key in self._used and revision in LEGACY:
            yield "id: was used before"
        self._used.add(key)
        self._cancelled.discard(key)
        self._in_flight[key] = _Request(str(message["method"]), revision)
        token = _meta_of(message).get("progressToken")
        if is_id(token):
            self._tokens[_key(sender, token)] = revision
            self._progress.pop(_key(sender, token), None)

    def _note_notification(self, sender: Side, message: Message) -> Iterator[str]:
        params = _params_of(message)
        if message["method"] == "notifications/cancelled":
            # A client cancels its own requests, a modern server the client's subscription.
            for side in (sender, _other(sender)):
                key = _key(side, params.get("requestId"))
                if key in self._in_flight:
                    self._cancelled.add(key)
                    return
        if message["method"] == "notifications/progress":
            key = _key(_other(sender), params.get("progressToken"))
            if key not in self._tokens:
                yield "params.progressToken: is of no request"
            progress = params.get("progress")
            if isinstance(progress, int | float):
                if progress <= self._progress.get(key, float("-inf")):
                    yield "params.progress: does not grow"
                self._progress[key] = progress

    @property
    def _usual_revision(self) -> str:
        if self.revision is not None:
            return self.revision
        return MODERN[-1] if self._has_modern_requests else LEGACY[-1]

    def _revision_of(self, sender: Side, message: Json) -> str:
        params, meta = _params_of(message), _meta_of(message)
        if _VERSION in meta:
            self._has_modern_requests = True
            return meta[_VERSION] if meta[_VERSION] in MODERN else MODERN[-1]
        if _SUBSCRIPTION in meta:
            return MODERN[-1]
        if isinstance(message, dict) and message.get("method") == "initialize":
            asked = params.get("protocolVersion")
            return asked if asked in LEGACY else LEGACY[-1]
        token = self._tokens.get(_key(_other(sender), params.get("progressToken")))
        request = self._in_flight.get(_key(sender, params.get("requestId")))
        return token or (request.revision if request else self._usual_revision)


def _key(sender: Side, id_: Json) -> _Key:
    return sender, json.dumps(id_)


def _other(side: Side) -> Side:
    return "server" if side == "client" else "client"


def _params_of(message: Json) -> Message:
    params = message.get("params") if isinstance(message, dict) else None
    return params if isinstance(params, dict) else {}


def _meta_of(message: Json) -> Message:
    meta = _params_of(message).get("_meta")
    return meta if isinstance(meta, dict) else {}

"""Finds in a script what was recorded for a request, or says what comes nearest to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from wigwag.jsonrpc.codes import INVALID_PARAMS, METHOD_NOT_FOUND
from wigwag.schema import (
    INITIALIZE,
    LOGGING_SET_LEVEL,
    PING,
    PROTOCOL_VERSION_KEY,
    SERVER_DISCOVER,
)
from wigwag.schema.error_codes import UNSUPPORTED_PROTOCOL_VERSION
from wigwag.tracing.differences import differences, fits
from wigwag.tracing.json_text import encode_json
from wigwag.tracing.script import Cue, Script, meta_of, params_of

__all__ = ["Asked", "NotRecorded", "Prompter", "asked_of"]

# What every client may do at any time, and what can only be answered in one way.
_HARMLESS: Final = (PING, LOGGING_SET_LEVEL)
# Hosts differ in what they say of themselves here, and the answer is the same.
_WHOEVER_ASKS: Final = (INITIALIZE, SERVER_DISCOVER)
_MAX_SHOWN: Final = 80


class Asked(Struct, frozen=True, kw_only=True):
    """A request as it matters for finding what was recorded for it.

    Attributes:
        method: Its method.
        params: Its params, all of them.
        revision: The modern revision that it names; `None` for a legacy request.
    """

    method: str
    params: dict[str, Any]
    revision: str | None


class NotRecorded(Exception):
    """Nothing was recorded for a request.

    Attributes:
        code: That of the error to answer with.
        message: Why, and what there is instead.
        data: What else belongs to the error.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Prompter:
    """Says what comes next in a script; it remembers for one client what was used already.

    The same request gets the answers that were recorded for it one after the other, and from then
    on the last of them.

    Args:
        script: The script.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._used: set[int] = set()

    def find(self, asked: Asked) -> Cue | None:
        """Return what was recorded for a request; `None` where it is to be answered with nothing.

        Raises:
            NotRecorded: There is nothing.
        """
        self._check_era(asked)
        of_method = [
            cue
            for cue in self._script.requests
            if cue.entry.method == asked.method and cue.is_modern == (asked.revision is not None)
        ]
        fitting = of_method if asked.method in _WHOEVER_ASKS else _fitting(of_method, asked)
        if asked.method == INITIALIZE:
            wanted = asked.params.get("protocolVersion")
            same = [cue for cue in fitting if _params(cue).get("protocolVersion") == wanted]
            fitting = same or fitting
        if fitting:
            return self._next(fitting)
        if asked.method in _HARMLESS:
            return None
        raise self._not_recorded(asked, of_method)

    def find_notification(self, method: str) -> Cue | None:
        """Return what followed a notification; `None` where nothing did, or it is used up."""
        cues = self._script.notifications
        for cue in cues:
            if cue.entry.method == method and id(cue) not in self._used:
                self._used.add(id(cue))
                return cue
        return None

    def _next(self, fitting: Sequence[Cue]) -> Cue:
        for cue in fitting:
            if id(cue) not in self._used:
                self._used.add(id(cue))
                return cue
        return fitting[-1]

    def _check_era(self, asked: Asked) -> None:
        """See to it that the era of who asks was recorded.

        Raises:
            NotRecorded: It was not.
        """
        modern = self._script.modern
        if asked.revision is not None and modern and asked.revision not in modern:
            raise NotRecorded(
                UNSUPPORTED_PROTOCOL_VERSION,
                f"Unsupported protocol version {asked.revision!r}; recorded: {', '.join(modern)}",
                {"supported": modern, "requested": asked.revision},
            )
        if asked.revision is None and not self._script.is_legacy and asked.method == INITIALIZE:
            wanted = asked.params.get("protocolVersion")
            raise NotRecorded(
                UNSUPPORTED_PROTOCOL_VERSION,
                f"Unsupported protocol version {wanted!r}: the recording has {', '.join(modern)}"
                " only, which has no `initialize`",
                {"supported": modern, "requested": wanted},
            )

    def _not_recorded(self, asked: Asked, of_method: Sequence[Cue]) -> NotRecorded:
        if of_method:
            nearest = min(of_method, key=lambda cue: len(_differences(cue, asked)))
            return NotRecorded(INVALID_PARAMS, _unlike(nearest, asked))
        era = "legacy" if asked.revision is None else "modern"
        is_modern = asked.revision is not None
        there = {cue.entry.method for cue in self._script.requests if cue.is_modern == is_modern}
        return NotRecorded(
            METHOD_NOT_FOUND,
            f"Method not found: no {era} {asked.method} was recorded; there are "
            f"{', '.join(sorted(there)) or 'no requests of that era'}",
        )


def _fitting(cues: Iterable[Cue], asked: Asked) -> list[Cue]:
    """Return what fits best: in all, or in all but what the client was asked in between."""
    cues = list(cues)
    wanted = _relevant(asked.params)
    exact = [cue for cue in cues if _relevant(_params(cue)) == wanted]
    if exact:
        return exact
    redacted = [cue for cue in cues if fits(_relevant(_params(cue)), wanted)]
    if redacted or "inputResponses" not in wanted:
        return redacted
    wanted = {**wanted, "inputResponses": None}
    return [
        cue
        for cue in cues
        if "inputResponses" in _params(cue)
        and fits({**_relevant(_params(cue)), "inputResponses": None}, wanted)
    ]


def _relevant(params: dict[str, Any]) -> dict[str, Any]:
    """Return the params without what says who asks; nothing is the same as no arguments."""
    rest = {name: value for name, value in params.items() if name != "_meta"}
    if not rest.get("arguments", True):
        del rest["arguments"]
    return rest


def _params(cue: Cue) -> dict[str, Any]:
    return params_of(cue.entry)


def _differences(cue: Cue, asked: Asked) -> list[Any]:
    return differences(_relevant(_params(cue)), _relevant(asked.params))


def _unlike(nearest: Cue, asked: Asked) -> str:
    first, *more = _differences(nearest, asked)
    what = f"{first.path} {_shown(first.recorded)}, not {_shown(first.now)}"
    rest = f", and {len(more)} more difference{'' if len(more) == 1 else 's'}" if more else ""
    subject = f" {nearest.entry.subject}" if nearest.entry.subject else ""
    return (
        f"Not recorded: {asked.method} with these params; the nearest that was,"
        f"{subject or ' one'}, has {what}{rest}"
    )


def _shown(value: Any) -> str:
    if value is msgspec.UNSET:
        return "absent"
    text = encode_json(value).decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def asked_of(message: dict[str, Any]) -> Asked:
    """Return what matters of a request."""
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    revision = meta_of(params).get(PROTOCOL_VERSION_KEY)
    return Asked(
        method=message["method"],
        params=params,
        revision=revision if isinstance(revision, str) else None,
    )

"""Judges how a server answers the first requests of a host.

Spec: 2025-11-25 basic/lifecycle
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from wigwag.doctor.findings import Finding
from wigwag.doctor.process_checks.output_reading import Output
from wigwag.schema.revisions import LEGACY_REVISIONS

__all__ = ["check_answer_to_initialize", "check_ids"]

_EXCERPT: Final = 300


def check_answer_to_initialize(response: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what is wrong with a response to `initialize` that is no error."""
    result = response.get("result")
    if not isinstance(result, Mapping):
        yield _broken("it has neither a `result` that is an object nor an `error`", response)
        return
    revision = result.get("protocolVersion")
    if not isinstance(revision, str):
        yield _broken("its result has no `protocolVersion`", response)
    elif revision not in LEGACY_REVISIONS:
        known = ", ".join(LEGACY_REVISIONS)
        yield Finding(
            "unknown-revision",
            "error",
            f"the answer to `initialize` names the revision {revision!r}, which does not exist",
            excerpt_of(response),
            f"answer with the revision that the client asked for, or with one of {known}",
        )
    for member, holds in (("capabilities", "what the server can do"), ("serverInfo", "its name")):
        if not isinstance(result.get(member), Mapping):
            yield _broken(f"its result has no `{member}`, an object with {holds}", response)
    info = result.get("serverInfo")
    if isinstance(info, Mapping):
        for member in ("name", "version"):
            if not isinstance(info.get(member), str):
                yield _broken(f"`serverInfo` has no `{member}` that is a string", response)


def check_ids(output: Output, asked: str | int) -> Iterator[Finding]:
    """Yield what is wrong with the ids of responses, where none has the id that was asked under.

    Args:
        output: What the server has said.
        asked: The id of the request.
    """
    strays = [one for one in output.messages if "method" not in one]
    if not strays or output.response(asked) is not None:
        return
    yield Finding(
        "wrong-id",
        "error",
        f"the request had the id {asked!r}, and the response has {strays[-1].get('id')!r}",
        excerpt_of(strays[-1]),
        "answer with the very `id` of the request: a number stays a number, a string a string",
    )


def excerpt_of(message: Mapping[str, Any]) -> str:
    """Return the beginning of a message, as JSON."""
    text = json.dumps(message, ensure_ascii=False)
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"


def _broken(what: str, response: Mapping[str, Any]) -> Finding:
    return Finding(
        "broken-handshake",
        "error",
        f"the answer to `initialize` is not valid: {what}",
        excerpt_of(response),
        "answer with `protocolVersion`, `capabilities` and `serverInfo`, or let an SDK do it",
    )

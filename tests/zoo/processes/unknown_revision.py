"""Answers with a revision that does not exist."""

from typing import Any

from manners import answer, serve


def invent(message: dict[str, Any]) -> dict[str, Any] | None:
    response = answer(message)
    if response is not None and message["method"] == "initialize":
        response["result"]["protocolVersion"] = "1.0"
    return response


serve(answer=invent)

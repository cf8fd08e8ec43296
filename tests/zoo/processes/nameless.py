"""Answers the handshake without saying who it is."""

from typing import Any

from manners import answer, serve


def forget(message: dict[str, Any]) -> dict[str, Any] | None:
    response = answer(message)
    if response is not None and message["method"] == "initialize":
        del response["result"]["serverInfo"]
    return response


serve(answer=forget)

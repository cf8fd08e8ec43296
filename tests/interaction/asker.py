"""A modern client that is asked, spoken by the test."""

from typing import Any

from tests.interaction.peers import PeerClient
from tests.pair import Message
from wigwag import Server
from wigwag.schema import LATEST_MODERN

Json = Any

FORMS: Json = {"elicitation": {}}


def accepted(**content: Json) -> Json:
    return {"action": "accept", "content": content}


class Asker(PeerClient):
    """A modern client that says which answers it brings."""

    def __init__(self, server: Server, capabilities: Json = FORMS) -> None:
        super().__init__(server, LATEST_MODERN, capabilities=capabilities)

    async def call_with(
        self, state: Json = None, responses: Json = None, tool: str = "greet", **arguments: Json
    ) -> Message:
        """Call a tool, with a state and answers if there are any, and return the answer."""
        params: Json = {"name": tool, "arguments": arguments}
        if state is not None:
            params["requestState"] = state
        if responses is not None:
            params["inputResponses"] = responses
        return await self.ask(self.request("tools/call", params))


def asked(answer: Message) -> Json:
    """Return the questions of an answer that asks, and its state."""
    result = answer["result"]
    assert result["resultType"] == "input_required", answer
    assert {"ttlMs", "cacheScope", "content"}.isdisjoint(result)
    return result.get("inputRequests"), result.get("requestState")


def text(answer: Message) -> str:
    result = answer["result"]
    assert result["resultType"] == "complete", answer
    found: str = result["content"][0]["text"]
    return found


def refusal(answer: Message) -> str:
    """Return the message of the error that refuses params."""
    assert answer["error"]["code"] == -32602, answer
    message: str = answer["error"]["message"]
    return message

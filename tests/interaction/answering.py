"""What a client of the tests answers, whatever it is asked."""

from typing import Any

from wigwag.schema import (
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    TextContent,
)


def fill_in(params: ElicitRequestFormParams) -> dict[str, Any]:
    """Fill in a form: texts with the message, numbers with 7, choices with the last one."""
    filled: dict[str, Any] = {}
    for name, field in params.requested_schema["properties"].items():
        match field["type"]:
            case "string" if "enum" in field:
                filled[name] = field["enum"][-1]
            case "string":
                filled[name] = params.message
            case "integer":
                filled[name] = 7
            case "boolean":
                filled[name] = True
    return filled


def do(params: ElicitRequestFormParams | ElicitRequestURLParams) -> Any:
    """Fill in a form, or visit a page."""
    if isinstance(params, ElicitRequestURLParams):
        return ElicitResult(action="accept")
    return fill_in(params)


def say(params: CreateMessageRequestParams) -> CreateMessageResult:
    """Say the same, but louder."""
    [message] = params.messages
    assert isinstance(message.content, TextContent)
    content = TextContent(text=message.content.text.upper())
    return CreateMessageResult(role="assistant", model="m", content=content)


ABLE: dict[str, Any] = {"elicitation": fill_in, "sampling": say, "roots": ["file:///srv"]}
"""Options of a client that answers all but pages."""

ABLE_TO_ALL: dict[str, Any] = {
    **ABLE,
    "elicitation": do,
    "capabilities": ClientCapabilities(elicitation=ElicitationCapability(form={}, url={})),
}
"""Options of a client that answers everything."""

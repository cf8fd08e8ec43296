"""Servers that can be connected to, each with one fault in what it says then.

python -m tests.zoo.contents NAME
"""

import sys
from typing import Any, Final

from tests.zoo.animal import (
    LEGACY,
    PROMPT,
    RESOURCE,
    TEXT,
    TOOL,
    Animal,
    Message,
    Refused,
    Silent,
    serve_stdio,
)


def tool(**members: Any) -> Message:
    """Return a sound tool with other members."""
    return {**TOOL, **members}


def taking(schema: Message, **members: Any) -> Message:
    """Return a tool whose one argument has this schema."""
    root = {"type": "object", "properties": {"word": schema}, **members}
    return tool(inputSchema=root)


def refusing(code: int, message: str) -> Any:
    """Return an answer that is an error."""

    def refuse(_: Message) -> Any:
        raise Refused(code, message)

    return refuse


def fall_silent(_: Message) -> Any:
    raise Silent


def leave(_: Message) -> Any:
    sys.exit("unexpected method")


def greet_with(**members: Any) -> Any:
    """Return an answer to `initialize` with other members; those that are `None` are left out."""

    def greet(params: Message) -> Message:
        answer = {
            "protocolVersion": agreed(params["protocolVersion"]),
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "library", "version": "1.0.0"},
            **members,
        }
        return {name: value for name, value in answer.items() if value is not None}

    return greet


def agreed(asked: str) -> str:
    return asked if asked in LEGACY else LEGACY[-1]


def greet_anyhow(params: Message) -> Message:
    """Agree to whatever is asked."""
    greeting: Message = greet_with(protocolVersion=params["protocolVersion"])(params)
    return greeting


def greet_only_known(params: Message) -> Message:
    """Refuse what is not known, in place of offering what is."""
    asked = params["protocolVersion"]
    if asked not in LEGACY[:3]:
        raise Refused(-32602, f"Unsupported protocol version: {asked}")
    greeting: Message = greet_with()(params)
    return greeting


def in_circles(params: Message) -> Message:
    """Give the cursor of the second page on the second page."""
    name = "second" if "cursor" in params else "first"
    return {"tools": [tool(name=name)], "nextCursor": "page 2"}


def without_end(params: Message) -> Message:
    """Give one more page, always."""
    page = int(params.get("cursor", "0")) + 1
    return {"prompts": [{**PROMPT, "name": f"prompt_{page}"}], "nextCursor": str(page)}


OUTPUT: Final = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
COUNTS: Final = {
    **TOOL,
    "inputSchema": {"type": "object"},
    "outputSchema": OUTPUT,
    "annotations": {"readOnlyHint": True},
}
ALTERNATIVES: Final = {
    "type": "object",
    "properties": {"isbn": {"type": "string"}, "title": {"type": "string"}},
    "anyOf": [{"required": ["isbn"]}, {"required": ["title"]}],
}
DRAFT_07: Final = "http://json-schema.org/draft-07/schema#"

ZOO: Final[dict[str, Animal]] = {
    "healthy": Animal(),
    "healthy-modern": Animal(modern=True),
    # --- eras and revisions
    "modern-only": Animal("legacy-hosts-refused", legacy=(), modern=True),
    "refuses-newer-revisions": Animal(
        "revision-refused", legacy=LEGACY[:3], answers={"initialize": greet_only_known}
    ),
    "agrees-to-anything": Animal("agrees-to-any-revision", answers={"initialize": greet_anyhow}),
    "silent-when-asked": Animal(
        "silent-on-unknown-method", modern=True, answers={"server/discover": fall_silent}
    ),
    "dies-when-asked": Animal(
        "dies-of-unknown-method", modern=True, answers={"server/discover": leave}
    ),
    "no-name": Animal(
        "broken-handshake", answers={"initialize": greet_with(serverInfo={"name": "library"})}
    ),
    "no-era": Animal("no-revision-works", legacy=()),
    "null-in-discover": Animal(
        "broken-discover",
        modern=True,
        answers={
            "server/discover": lambda _: {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}, "prompts": {}, "resources": None},
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "a", "version": "1"}},
            }
        },
    ),
    "tools-of-one-era": Animal(
        "eras-have-different-tools",
        modern=True,
        answers={
            "tools/list": lambda params: {
                "tools": [TOOL, *([tool(name="lend_book")] if params.get("_meta") else [])]
            }
        },
    ),
    "modern-members-missing": Animal(
        "modern-members-missing",
        modern=True,
        answers={"prompts/list": lambda _: {"resultType": None, "prompts": [PROMPT]}},
    ),
    # --- capabilities
    "tools-undeclared": Animal(
        "capability-undeclared", capabilities={"prompts": {}, "resources": {}}
    ),
    "prompts-unanswered": Animal(
        "capability-unanswered",
        answers={"prompts/list": refusing(-32601, "Method not found: prompts/list")},
    ),
    "logging-unanswered": Animal(
        "capability-unanswered",
        capabilities={"prompts": {}, "logging": {}, "tools": {}, "resources": {}},
    ),
    "completions-unanswered": Animal(
        "capability-unanswered",
        capabilities={"prompts": {}, "completions": {}, "tools": {}, "resources": {}},
        prompts=[{**PROMPT, "arguments": [{"name": "genre"}]}],
    ),
    "subscribe-unanswered": Animal(
        "capability-unanswered",
        capabilities={"prompts": {}, "tools": {}, "resources": {"subscribe": True}},
    ),
    # --- lists
    "list-fails": Animal("list-fails", answers={"tools/list": refusing(-32603, "no database")}),
    "list-is-no-array": Animal(
        "malformed-list", answers={"tools/list": lambda _: {"tools": {"find_books": TOOL}}}
    ),
    "null-cursor": Animal(
        "malformed-list", answers={"tools/list": lambda _: {"tools": [TOOL], "nextCursor": None}}
    ),
    "cursor-loops": Animal("cursor-loops", answers={"tools/list": in_circles}),
    "list-without-end": Animal("list-without-end", answers={"prompts/list": without_end}),
    "null-title": Animal("malformed-tool", tools=[tool(title=None)]),
    "no-input-schema": Animal(
        "malformed-tool", tools=[{"name": "find_books", "description": "Find books."}]
    ),
    "two-tools-of-one-name": Animal("duplicate-tool", tools=[TOOL, TOOL]),
    "too-many-tools": Animal("too-many-tools", tools=[tool(name=f"t{n}") for n in range(150)]),
    "tools-too-large": Animal(
        "tools-too-large",
        tools=[taking({"type": "string", "enum": ["a" * 40] * 3000})],
    ),
    # --- names and descriptions
    "dotted-name": Animal("tool-name-refused", tools=[tool(name="library.find_books")]),
    "name-of-digits": Animal("tool-name-refused", tools=[tool(name="21st_century_books")]),
    "long-name": Animal("tool-name-long", tools=[tool(name="find_books_" * 5)]),
    "argument-with-brackets": Animal(
        "argument-name-refused",
        tools=[tool(inputSchema={"type": "object", "properties": {"ids[]": {"type": "string"}}})],
    ),
    "no-description": Animal(
        "tool-without-description", tools=[{k: TOOL[k] for k in ("name", "inputSchema")}]
    ),
    "long-description": Animal("description-long", tools=[tool(description="Find books. " * 300)]),
    "contradicting-hints": Animal(
        "hints-contradict",
        tools=[tool(annotations={"readOnlyHint": True, "destructiveHint": True})],
    ),
    "instructions-of-old": Animal(
        "instructions-name-nothing", instructions="Call `find_book` before anything else."
    ),
    "long-instructions": Animal("instructions-long", instructions="Be brief. " * 300),
    # --- schemas
    "root-without-type": Animal(
        "schema-root-not-object", tools=[tool(inputSchema={"properties": {}})]
    ),
    "alternatives-at-the-root": Animal(
        "schema-root-refused", tools=[tool(inputSchema=ALTERNATIVES)]
    ),
    "array-without-items": Animal("array-without-items", tools=[taking({"type": "array"})]),
    "not-a-schema": Animal("schema-invalid", tools=[taking({"type": "text"})]),
    "tuple-of-draft-07": Animal(
        "schema-not-2020-12",
        tools=[taking({"type": "array", "items": [{"type": "string"}]}, **{"$schema": DRAFT_07})],
    ),
    "dialect-of-its-own": Animal(
        "schema-dialect-unknown", tools=[taking({}, **{"$schema": "https://example.com/schema"})]
    ),
    "reference-outside": Animal(
        "schema-reference-outside", tools=[taking({"$ref": "https://example.com/book.json"})]
    ),
    "reference-dangling": Animal(
        "schema-reference-dangling", tools=[taking({"$ref": "#/$defs/Book"})]
    ),
    "header-with-a-space": Animal(
        "tool-header-invalid", tools=[taking({"type": "string", "x-mcp-header": "My Word"})]
    ),
    "output-is-no-object": Animal(
        "schema-root-not-object", tools=[tool(outputSchema={"type": "array", "items": {}})]
    ),
    "output-breaks-schema": Animal(
        "output-breaks-schema",
        tools=[COUNTS],
        answers={"tools/call": lambda _: {"content": [], "structuredContent": {"n": "three"}}},
    ),
    "output-missing": Animal("output-breaks-schema", tools=[COUNTS]),
    "result-without-content": Animal(
        "malformed-tool-result",
        tools=[COUNTS],
        answers={"tools/call": lambda _: {"structuredContent": {"n": 3}}},
    ),
    # --- prompts and resources
    "prompt-fails": Animal(
        "prompt-fails", answers={"prompts/get": refusing(-32602, "genre is missing")}
    ),
    "prompt-of-many-blocks": Animal(
        "malformed-prompt-result",
        answers={"prompts/get": lambda _: {"messages": [{"role": "user", "content": [TEXT]}]}},
    ),
    "resource-unreadable": Animal(
        "resource-unreadable", answers={"resources/read": refusing(-32002, "not found")}
    ),
    "resource-empty": Animal(
        "resource-empty", answers={"resources/read": lambda _: {"contents": []}}
    ),
    "blob-is-no-base64": Animal(
        "malformed-contents",
        answers={
            "resources/read": lambda _: {"contents": [{"uri": "library://hours", "blob": "?"}]}
        },
    ),
    "uri-is-a-path": Animal(
        "resource-uri-malformed", resources=[{"name": "hours", "uri": "hours.txt"}]
    ),
    "two-resources-of-one-uri": Animal("duplicate-resource", resources=[RESOURCE, RESOURCE]),
    "template-unclosed": Animal(
        "template-malformed", templates=[{"name": "shelf", "uriTemplate": "library://{shelf"}]
    ),
    "mime-type-is-a-suffix": Animal(
        "mime-type-malformed", resources=[{**RESOURCE, "mimeType": ".txt"}]
    ),
    "icon-of-a-file": Animal(
        "icon-unusable", tools=[tool(icons=[{"src": "file:///usr/share/book.png"}])]
    ),
    "silent-when-read": Animal(
        "resource-unreadable",
        resources=[{**RESOURCE, "uri": f"library://shelf/{n}"} for n in range(9)],
        answers={"resources/read": fall_silent},
    ),
    "silent-when-got": Animal(
        "prompt-fails",
        prompts=[{**PROMPT, "name": f"recommend_{n}"} for n in range(9)],
        answers={"prompts/get": fall_silent},
    ),
    "dies-of-reading": Animal("dies-of-request", answers={"resources/read": leave}),
}

if __name__ == "__main__":
    serve_stdio(ZOO[sys.argv[1]])

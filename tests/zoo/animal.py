"""What the servers of the zoo are made of: answers, over any connection; written without Wigwag.

An animal that nothing is said about is healthy: it has a tool, a prompt and a resource, and speaks
every legacy revision.
"""

import copy
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[Message], Any]
"""Takes the params of a request and returns the result; or raises `Refused`."""

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"

TOOL: Message = {
    "name": "find_books",
    "description": "Find books by a word in their titles.",
    "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}},
}
PROMPT: Message = {"name": "recommend", "description": "Recommend a book."}
RESOURCE: Message = {"name": "hours", "uri": "library://hours", "mimeType": "text/plain"}
TEXT: Message = {"type": "text", "text": "Emma"}


class Refused(Exception):
    """A request is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Silent(Exception):
    """A request is not answered at all."""


class Animal:
    """A server with one fault.

    Args:
        finds: The codes of the findings that the doctor has about it.
        tools: What it lists, and so on.
        prompts: As above.
        resources: As above.
        templates: As above.
        capabilities: What it declares.
        instructions: What it tells the model.
        answers: Answers to methods, in place of its own.
        legacy: The legacy revisions that it speaks.
        modern: Whether it speaks the modern one.
    """

    def __init__(  # noqa: PLR0913 - each is given for few
        self,
        *finds: str,
        tools: Iterable[Any] = (TOOL,),
        prompts: Iterable[Any] = (PROMPT,),
        resources: Iterable[Any] = (RESOURCE,),
        templates: Iterable[Any] = (),
        capabilities: Message | None = None,
        instructions: Any = None,
        answers: dict[str, Answer] | None = None,
        legacy: tuple[str, ...] = LEGACY,
        modern: bool = False,
    ) -> None:
        self.finds = finds
        self.legacy = legacy
        self.modern = modern
        self.capabilities = capabilities
        if capabilities is None:
            self.capabilities = {"tools": {}, "prompts": {}, "resources": {}}
        self.instructions = instructions
        message = {"role": "user", "content": TEXT}
        contents = {"uri": "library://hours", "mimeType": "text/plain", "text": "9 to 5"}
        self._answers: dict[str, Answer] = {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": [*tools]},
            "prompts/list": lambda _: {"prompts": [*prompts]},
            "resources/list": lambda _: {"resources": [*resources]},
            "resources/templates/list": lambda _: {"resourceTemplates": [*templates]},
            "prompts/get": lambda _: {"messages": [message]},
            "resources/read": lambda _: {"contents": [contents]},
            "tools/call": lambda _: {"content": [TEXT]},
            "server/discover": self._discover,
            **(answers or {}),
        }

    def answer(self, message: Message) -> Message | None:
        """Return the response to a message; `None` where it has none."""
        if "id" not in message or "method" not in message:
            return None
        response = {"jsonrpc": "2.0", "id": message["id"]}
        params = message.get("params") or {}
        method = message["method"]
        try:
            if method not in self._answers or (self._is_modern(params) and not self.modern):
                raise Refused(-32601, f"Method not found: {method}")
            result = self._answers[method](params)
        except Refused as refused:
            return {**response, "error": {"code": refused.code, "message": refused.message}}
        except Silent:
            return None
        return {**response, "result": self._marked(method, params, copy.deepcopy(result))}

    def _is_modern(self, params: Message) -> bool:
        return "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})

    def _marked(self, method: str, params: Message, result: Any) -> Any:
        """Return a result with what those of the modern revision have in addition."""
        if not self.modern or not self._is_modern(params) or not isinstance(result, dict):
            return result
        hints = {"ttlMs": 0, "cacheScope": "private"}
        is_kept = method.endswith(("/list", "/read", "/discover"))
        marked = {"resultType": "complete", **(hints if is_kept else {}), **result}
        return {name: value for name, value in marked.items() if value is not None}

    def _initialize(self, params: Message) -> Message:
        if not self.legacy:
            raise Refused(-32601, "Method not found: initialize")
        asked = params["protocolVersion"]
        agreed = asked if asked in self.legacy else self.legacy[-1]
        info = {"name": "library", "version": "1.0.0"}
        return {"protocolVersion": agreed, "serverInfo": info, **self._introduction()}

    def _discover(self, params: Message) -> Message:
        if not self.modern:
            raise Refused(-32601, "Method not found: server/discover")
        info = {"name": "library", "version": "1.0.0"}
        meta = {"io.modelcontextprotocol/serverInfo": info}
        return {"supportedVersions": [MODERN], "_meta": meta, **self._introduction()}

    def _introduction(self) -> Message:
        introduction: Message = {"capabilities": self.capabilities}
        if self.instructions is not None:
            introduction["instructions"] = self.instructions
        return introduction


def serve_stdio(animal: Animal) -> None:
    """Answer on the standard streams until the input ends."""
    for line in sys.stdin:
        response = animal.answer(json.loads(line))
        if response is not None:
            sys.stdout.write(json.dumps(response) + "\n")
            sys.stdout.flush()

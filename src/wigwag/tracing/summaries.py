"""Says in a few words what a message of a recording is about, for one line of a list."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from wigwag.tracing.conversation import Entry

__all__ = ["summary_of"]

MAX_CHARACTERS: Final = 300

# What results list, and which member names each.
_LISTS: Final = {
    "tools": "tool",
    "prompts": "prompt",
    "resources": "resource",
    "resourceTemplates": "resource template",
    "roots": "root",
    "tasks": "task",
}
_NAMES: Final = ("name", "uriTemplate", "uri", "taskId")


def summary_of(entry: Entry) -> str:
    """Return what a message says beyond its method: what is asked for, or what came of it.

    It is the text of a stranger: whoever shows it makes its control characters visible.
    """
    message = entry.message
    if entry.kind == "error":
        text = _of_error(message.get("error"))
    elif entry.kind == "result":
        text = _of_result(message.get("result"))
    elif entry.kind == "invalid":
        text = _compact(message)
    else:
        text = _of_params(entry.method, message.get("params"))
    text = " ".join(text.split())
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


def _of_error(error: Any) -> str:
    if not isinstance(error, dict):
        return _compact(error)
    return f"{error.get('code')} {error.get('message', '')}"


def _of_params(method: str, params: Any) -> str:
    if not isinstance(params, dict):
        return "" if params is None else _compact(params)
    known = _OF_METHODS.get(method)
    said = known(params) if known is not None else None
    if said is not None:
        return said
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return _compact(rest) if rest else ""


def _of_call(params: dict[str, Any]) -> str:
    arguments = params.get("arguments")
    return str(params.get("name", "")) + (f" {_compact(arguments)}" if arguments else "")


def _of_log(params: dict[str, Any]) -> str:
    data = params.get("data")
    logger = params.get("logger")
    where = f" {logger}" if isinstance(logger, str) else ""
    return f"{params.get('level', '')}{where}: {data if isinstance(data, str) else _compact(data)}"


def _of_progress(params: dict[str, Any]) -> str:
    total = params.get("total")
    of = "" if total is None else f" of {total}"
    return f"{params.get('progress')}{of} {params.get('message', '')}"


def _of_initialize(params: dict[str, Any]) -> str:
    return f"{params.get('protocolVersion', '')} {_named(params.get('clientInfo'))}"


def _of_cancellation(params: dict[str, Any]) -> str:
    return f"{_compact(params.get('requestId'))} {params.get('reason', '')}"


def _of_resource(params: dict[str, Any]) -> str | None:
    uri = params.get("uri")
    return uri if isinstance(uri, str) else None


_OF_METHODS: Final[dict[str, Callable[[dict[str, Any]], str | None]]] = {
    "initialize": _of_initialize,
    "notifications/cancelled": _of_cancellation,
    "notifications/message": _of_log,
    "notifications/progress": _of_progress,
    "notifications/resources/updated": _of_resource,
    "prompts/get": _of_call,
    "resources/read": _of_resource,
    "resources/subscribe": _of_resource,
    "resources/unsubscribe": _of_resource,
    "tools/call": _of_call,
}


def _of_result(result: Any) -> str:
    if not isinstance(result, dict):
        return _compact(result)
    for name, one in _LISTS.items():
        if isinstance(result.get(name), list):
            return _of_list(result[name], one)
    for name, describe in _OF_RESULTS.items():
        if name in result:
            return describe(result)
    rest = {name: value for name, value in result.items() if name not in ("_meta", "resultType")}
    return _compact(rest)


def _of_list(items: list[Any], one: str) -> str:
    names = [_name_of(item) for item in items]
    what = f"{len(items)} {one}{'' if len(items) == 1 else 's'}"
    return f"{what}: {', '.join(names)}" if names else what


def _name_of(item: Any) -> str:
    if isinstance(item, dict):
        for name in _NAMES:
            if isinstance(item.get(name), str):
                return str(item[name])
    return "?"


def _of_content(result: dict[str, Any]) -> str:
    content = result["content"]
    blocks = content if isinstance(content, list) else [content]
    said = " · ".join(_of_block(block) for block in blocks)
    if not said and "structuredContent" in result:
        return _compact(result["structuredContent"])
    return said


def _of_block(block: Any) -> str:
    if not isinstance(block, dict):
        return _compact(block)
    text = block.get("text")
    if isinstance(text, str):
        return text
    what = [block.get("type", ""), block.get("mimeType", ""), block.get("uri", "")]
    return f"[{' '.join(str(part) for part in what if part)}]"


def _of_messages(result: dict[str, Any]) -> str:
    messages = result["messages"]
    if not isinstance(messages, list):
        return _compact(messages)
    said = [
        f"{each.get('role', '')}: {_of_block(each.get('content'))}"
        for each in messages
        if isinstance(each, dict)
    ]
    return " · ".join(said)


def _of_contents(result: dict[str, Any]) -> str:
    contents = result["contents"]
    if not isinstance(contents, list):
        return _compact(contents)
    return " · ".join(_of_block(each) for each in contents)


def _of_greeting(result: dict[str, Any]) -> str:
    return f"{result['protocolVersion']} {_named(result.get('serverInfo'))}"


def _of_versions(result: dict[str, Any]) -> str:
    return _compact(result["supportedVersions"])


def _of_questions(result: dict[str, Any]) -> str:
    asked = result["inputRequests"]
    if not isinstance(asked, dict):
        return _compact(asked)
    methods = [
        str(each.get("method", "?")) if isinstance(each, dict) else "?" for each in asked.values()
    ]
    return f"input required: {', '.join(methods)}"


_OF_RESULTS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "content": _of_content,
    "messages": _of_messages,
    "contents": _of_contents,
    "protocolVersion": _of_greeting,
    "supportedVersions": _of_versions,
    "inputRequests": _of_questions,
}


def _named(info: Any) -> str:
    if not isinstance(info, dict):
        return ""
    return f"{info.get('name', '')} {info.get('version', '')}"


def _compact(value: Any) -> str:
    # Not all that a peer may send can be encoded strictly: NaN, for one.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

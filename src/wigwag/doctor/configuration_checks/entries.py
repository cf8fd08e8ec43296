"""Judges one entry of a host's configuration, as it is written."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from wigwag.doctor.configuration_checks.hosts import ConfiguredHost
from wigwag.doctor.findings import Finding, Severity
from wigwag.doctor.secrets import is_placeholder, is_secret_name, is_token

__all__ = ["check_entry"]

_KNOWN: Final = {
    *("type", "transport", "command", "args", "env", "envFile", "cwd"),
    *("url", "headers", "auth", "disabled"),
}
# What hosts have besides, each for itself.
_KNOWN_TO_SOME: Final = {
    *(
        "alwaysAllow",
        "autoApprove",
        "description",
        "dev",
        "disabledTools",
        "enabled",
        "excludeTools",
    ),
    *("gallery", "headersHelper", "httpUrl", "includeTools", "name", "oauth", "serverUrl"),
    *("sandbox", "sandboxEnabled", "timeout", "tools", "trust", "version"),
}
_URL_KEYS: Final = ("url", "serverUrl", "httpUrl")
_OFTEN_MEANT: Final = {
    "environment": "env",
    "arguments": "args",
    "cmd": "command",
    "path": "command",
}
_VARIABLE: Final = re.compile(r"\$\{([^{}]+)\}")
_is_command: Final = re.compile(r"[a-z][a-z0-9-]*").fullmatch
_OPTION: Final = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)


def check_entry(name: str, fields: Any, host: ConfiguredHost) -> Iterator[Finding]:
    """Yield what is wrong with an entry; after an error its server need not be started.

    Args:
        name: The name of the server.
        fields: What the file has under it.
        host: Who reads it.
    """
    for code, severity, what, evidence, change in _check(fields, host):
        yield Finding(code, severity, what, evidence, change, name)


_Told = tuple[str, Severity, str, str, str]


def _check(fields: Any, host: ConfiguredHost) -> Iterator[_Told]:
    if not isinstance(fields, Mapping):
        yield (
            "invalid-entry",
            "error",
            "what is under the name of the server is no object",
            type(fields).__name__,
            'write {"command": "...", "args": []}',
        )
        return
    yield from _keys(fields)
    yield from _kind(fields, host)
    yield from _types(fields)
    yield from _values(fields, host)
    yield from _secrets(fields)


# --- its keys


def _keys(fields: Mapping[str, Any]) -> Iterator[_Told]:
    for key in fields:
        if key in _KNOWN or key in _KNOWN_TO_SOME:
            continue
        near = difflib.get_close_matches(key, [*_KNOWN, *_KNOWN_TO_SOME], n=1)
        meant = _OFTEN_MEANT.get(key.lower()) or (near[0] if near else None)
        if meant is not None and meant not in fields:
            yield (
                "unknown-key",
                "error",
                f"hosts do not know `{key}`; `{meant}` is meant, most likely",
                key,
                f"rename `{key}` to `{meant}`",
            )
        else:
            yield (
                "unknown-key",
                "note",
                f"hosts do not know `{key}`, or few of them",
                key,
                "leave it out, unless your host has it in its documentation",
            )


def _kind(fields: Mapping[str, Any], host: ConfiguredHost) -> Iterator[_Told]:
    url = next((key for key in _URL_KEYS if key in fields), None)
    if "command" in fields and url is not None:
        yield (
            "invalid-entry",
            "error",
            f"there is both `command` and `{url}`",
            f"command, {url}",
            "leave one of them: a command is started, a URL is connected to",
        )
    elif "command" not in fields and url is None:
        yield (
            "invalid-entry",
            "error",
            "there is neither `command` nor `url`",
            ", ".join(fields) or "it is empty",
            "give the program that starts the server as `command`, or its address as `url`",
        )
    elif url is not None and not host.takes_urls:
        yield (
            "url-not-supported",
            "error",
            f"{host.name} does not read URLs from its file",
            f"{url} in place of a command",
            "add the server as a connector in its settings, or start a bridge as `command`, such "
            "as `npx mcp-remote URL`",
        )
    elif url is not None and host.needs_type and not {"type", "transport"} & fields.keys():
        yield (
            "type-missing",
            "error",
            f"{host.name} takes an entry without `type` for a command",
            f"{url} without `type`",
            'add "type": "http", or "sse" for a server of HTTP+SSE',
        )


# --- its values


def _types(fields: Mapping[str, Any]) -> Iterator[_Told]:
    args = fields.get("args", [])
    if isinstance(args, str):
        yield (
            "args-not-a-list",
            "error",
            "`args` is a string, and has to be a list of strings",
            "",
            f'write "args": [{", ".join(f"{part!r}" for part in _words(args))}]'.replace("'", '"'),
        )
    elif not isinstance(args, Sequence):
        yield _not_a("args", "a list of strings", args)
    if "command" in fields and not isinstance(fields["command"], str):
        yield _not_a("command", "one string, with the arguments in `args`", fields["command"])
    for key in ("env", "headers"):
        if key in fields and not isinstance(fields[key], Mapping):
            yield _not_a(key, "an object of strings", fields[key])
    for place, value in _all_values(fields):
        if not isinstance(value, str):
            yield _not_a(place, "a string", value)


def _not_a(place: str, wanted: str, value: Any) -> _Told:
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
    found = "null" if value is None else kinds.get(type(value), "an object")
    change = "put it in quotation marks" if isinstance(value, int | float) else f"make it {wanted}"
    what = f"`{place}` is {found}, and has to be {wanted}: many hosts refuse the whole file"
    return "not-a-string" if wanted == "a string" else "wrong-type", "error", what, "", change


def _words(args: str) -> list[str]:
    try:
        return shlex.split(args)
    except ValueError:
        return args.split()


def _all_values(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    args = fields.get("args")
    if isinstance(args, Sequence) and not isinstance(args, str):
        for at, value in enumerate(args):
            yield f"args[{at}]", value
    for key in ("env", "headers"):
        values = fields.get(key)
        if isinstance(values, Mapping):
            for name, value in values.items():
                yield f"{key}.{name}", value
    for key in _URL_KEYS:
        if key in fields:
            yield key, fields[key]


def _values(fields: Mapping[str, Any], host: ConfiguredHost) -> Iterator[_Told]:
    for place, value in _all_values(fields):
        if not isinstance(value, str):
            continue
        is_named = place.partition(".")[0] in ("env", "headers")
        if is_named and not value.strip():
            yield (
                "placeholder-value",
                "warning",
                f"`{place}` is empty",
                "",
                "give it a value, or leave it out: to many programs empty is not absent",
            )
        elif _says_what_to_write(value, is_named=is_named):
            yield (
                "placeholder-value",
                "warning",
                f"`{place}` only says what should stand there",
                value,
                "write the real value",
            )
        elif not host.fills_in and (found := _VARIABLE.search(value)):
            if place.startswith("args[") and found[1] in _names_in_env(fields):
                continue  # the server is given it, and fills it in, as `mcp-remote` does
            yield (
                "variable-not-filled-in",
                "error",
                f"`{place}` has {found[0]} in it, and {host.name} fills in no variables",
                found[0],
                "write the value itself",
            )


def _says_what_to_write(value: str, *, is_named: bool) -> bool:
    if _VARIABLE.search(value) or not is_placeholder(value):
        return False
    # Among arguments there are commands, such as `todo` or `add-notes`.
    return is_named or "your" in value or _is_command(value) is None


def _names_in_env(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    env = fields.get("env")
    return env if isinstance(env, Mapping) else {}


def _secrets(fields: Mapping[str, Any]) -> Iterator[_Told]:
    args = fields.get("args")
    if not isinstance(args, Sequence) or isinstance(args, str):
        return
    texts = [arg if isinstance(arg, str) else "" for arg in args]
    for at, arg in enumerate(texts):
        option = _OPTION.fullmatch(arg)
        if option is not None and is_secret_name(option[1]):
            value = option[2] if option[2] is not None else "".join(texts[at + 1 : at + 2])
            has_secret = _is_a_value(value)
        else:
            has_secret = is_token(arg) and not _VARIABLE.search(arg)
        if has_secret:
            yield (
                "secret-in-args",
                "warning",
                f"`args[{at}]` is or names a secret: every program of this machine can read "
                "command lines",
                option[1] if option is not None else f"args[{at}]",
                "give it in `env`, if the server reads it there",
            )


def _is_a_value(text: str) -> bool:
    """Tell whether a text is a secret itself, rather than a file, a variable or an option."""
    is_elsewhere = text.startswith(("-", "/", "./", "~")) or _VARIABLE.search(text) is not None
    return len(text) >= 8 and not is_elsewhere and not is_placeholder(text)

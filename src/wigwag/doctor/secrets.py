"""Tells what in the start of a server is secret, and keeps that out of what is said about it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from wigwag.doctor.findings import Finding

__all__ = [
    "hide_secrets",
    "is_placeholder",
    "is_secret_name",
    "is_token",
    "shown_command",
    "without_secrets",
]

_SECRET_NAME: Final = re.compile(
    r"key(?!word|board)|token|secret|passw|pwd|auth(?!or(?!iz))|credential|private|session|cookie|dsn|connection.?string",
    re.IGNORECASE,
)
# Ways in which well-known services mark their tokens, and what has been drawn by chance.
_TOKEN: Final = re.compile(
    r"(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_PLACEHOLDER: Final = re.compile(
    r"<[^<>]+>|\[[^\[\]]+\]|\{[^{}]+\}|x{3,}|\*{3,}|\.{3}|…|change.?me|todo|fixme|placeholder"
    r"|(?:[\w-]*[-_ ])?your[-_ ][\w -]*|/?path/to/.*"
    r"|(?:insert|replace|paste|enter|add)[-_ ].*|.*[-_ ]here|sk-\.{3}",
    re.IGNORECASE,
)
_OPTION: Final = re.compile(r"--?([A-Za-z][\w-]*)(=?)(.*)", re.DOTALL)
_SHORTEST_SECRET: Final = 6
_HIDDEN: Final = "***"


def is_secret_name(name: str) -> bool:
    """Tell whether a variable, or an option of a command, holds a secret, by its name.

    >>> is_secret_name("GITHUB_TOKEN"), is_secret_name("LOG_LEVEL")
    (True, False)
    """
    return _SECRET_NAME.search(name) is not None


def is_token(value: str) -> bool:
    """Tell whether a text has something in it that looks like a token of a service."""
    return _TOKEN.search(value) is not None


def is_placeholder(value: str) -> bool:
    """Tell whether a value only says what should stand in its place.

    >>> is_placeholder("YOUR_API_KEY"), is_placeholder("<token>"), is_placeholder("production")
    (True, True, False)
    """
    return _PLACEHOLDER.fullmatch(value.strip()) is not None


def hide_secrets(text: str, env: Mapping[str, str]) -> str:
    """Return a text without the secret values of variables, and without tokens.

    Args:
        text: What a server said, or how it is started.
        env: The variables that it was given.
    """
    for name, value in env.items():
        if len(value) >= _SHORTEST_SECRET and is_secret_name(name):
            text = text.replace(value, _HIDDEN)
    return _TOKEN.sub(_HIDDEN, text)


def shown_command(words: Sequence[str], env: Mapping[str, str]) -> str:
    """Return a command line as one would type it, without what is secret.

    >>> shown_command(["zoo", "--token", "lion", "--key=cub", "open"], {})
    "zoo --token '***' '--key=***' open"
    """
    return hide_secrets(shlex.join(_without_values(words)), env)


def _without_values(words: Sequence[str]) -> Iterator[str]:
    is_value = False
    for word in words:
        option = _OPTION.fullmatch(word)
        is_secret = option is not None and is_secret_name(option[1])
        if is_value and not word.startswith("-"):
            yield _HIDDEN
        elif is_secret and option is not None and option[2]:
            yield f"{word.partition('=')[0]}={_HIDDEN}"
        else:
            yield word
        is_value = is_secret and option is not None and not option[2]


def without_secrets(finding: Finding, env: Mapping[str, str]) -> Finding:
    """Return a finding without the secret values of the variables that a server was given."""
    return replace(
        finding,
        what=hide_secrets(finding.what, env),
        evidence=hide_secrets(finding.evidence, env),
        change=hide_secrets(finding.change, env),
    )

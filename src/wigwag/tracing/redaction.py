"""Takes secrets out of what is shown and recorded; all the rest stays as it was sent, to the byte.

Secret is what has a telling name (`token`, `password`, `GITHUB_TOKEN`, `Authorization`), what looks
like a credential (`Bearer …`, `ghp_…`, a private key), and the values of environment variables with
such names, wherever they turn up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

__all__ = ["REDACTED", "Redaction", "is_secret_name"]

REDACTED: Final = "[redacted]"

# What secrets are called, without case and punctuation; also at the end of a longer name.
_ENDINGS: Final = (
    "accesskey",
    "apikey",
    "assertion",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "token",
)
_NAMES: Final = frozenset({"codeverifier", "dpop", "jwt", "sessionid", "mcpsessionid"})
# They end like secrets, and are none: the protocol's own, and places in lists.
_HARMLESS: Final = frozenset(
    {"continuationtoken", "nextpagetoken", "nexttoken", "pagetoken", "progresstoken"}
)

# The parts of a JSON text: names of members, strings, brackets, whatever else is a value.
_json_parts: Final = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")(?P<colon>\s*:)?|[{}\[\]]|[^\s"{}\[\],:]+', re.DOTALL
)

_headers: Final = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key)(\s*:\s*)([^\s\"'\\][^\"'\\\r\n]*)"
)
# NAME=value, and a member of a JSON text that stands in a string.
_assigned: Final = re.compile(
    r"""
    (?<![\w.-])(?P<name>[A-Za-z_-][\w.-]{0,63})
    (?P<to>=(?:\\?["'])?|\\?["']\s{0,9}[:=]\s{0,9}\\?["'])
    (?P<value>[^\s"'\\&,;}]+)
    """,
    re.VERBOSE,
)
# What a token is had for, in a URL or a form.
_codes: Final = re.compile(r"(?:\A(?=.*&grant_type=)|(?<=[?&]))code=[^&\s\"'\\]+")
_credentials: Final = re.compile(
    r"""
    \b(?P<scheme>(?i:bearer|basic|dpop)\s+)(?=[^\s"'\\]*\d)[\w.~+/=-]{8,}
    | \b(?:sk-|rk_live_|sk_live_|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|hf_)[\w-]{16,}
    | \bAKIA[0-9A-Z]{16}\b
    | \bAIza[\w-]{30,}
    | \beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?P<before>://[^\s/:@"'\\]*:)[^\s/@"'\\]+(?P<behind>@)
    """,
    re.VERBOSE | re.DOTALL,
)

# One of these is in every text that has something for the patterns above, or a telling name.
_HINTS: Final = (
    *("token", "secret", "passw", "passphrase", "authorization", "cookie", "credential"),
    *("api_key", "api-key", "apikey", "access_key", "access-key", "accesskey"),
    *("private_key", "private-key", "privatekey", "private key"),
    *("assertion", "verifier", "dpop", "jwt", "session", '"env', "bearer ", "basic "),
    *("?code=", "&code="),
    *("sk-", "sk_live", "rk_live", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "xox", ".eyj", "npm_", "hf_", "akia", "aiza"),
)

# Only around the hints is a longer text looked at.
_LONG: Final = 8192
_BEFORE_HINT: Final = 80
_BEHIND_HINT: Final = 8192
_blob: Final = re.compile(r"[\w+/=-]*").fullmatch

# An object of this name has values that are nobody's business; the schema of one has not.
_ENVIRONMENTS: Final = frozenset({"env", "environ", "environment"})

# Shorter ones would turn up in words that have nothing to do with them.
_MIN_KNOWN_CHARACTERS: Final = 8
_MAX_KNOWN: Final = 1000

# A part of a path that nobody would type, as of those URLs that are a secret themselves.
_secret_part: Final = re.compile(r"(?=[^/]*\d)(?=[^/]*[A-Za-z])[\w-]{24,}")


class Redaction:
    """Takes secrets out.

    Args:
        names: More names whose values are secret: of members, headers, variables and parameters
            of a query, in any case.
        environment: Variables; the values of those with telling names are secret.
    """

    def __init__(
        self, names: Iterable[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        self._own_names = frozenset(_plain(name) for name in names)
        self._known: list[str] = []
        for name, value in (environment or {}).items():
            if self._is_secret(name):
                self.learn(value)

    def learn(self, value: str) -> None:
        """Take a text for a secret from here on, wherever it turns up."""
        is_known = value in self._known or len(self._known) > _MAX_KNOWN
        if len(value) < _MIN_KNOWN_CHARACTERS or is_known:
            return
        # As it is, and as it stands in a JSON text.
        self._known += {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
        self._known.sort(key=len, reverse=True)

    def json(self, text: str) -> str:
        """Return a JSON text without secrets; it stays one, and the rest of it stays as it is."""
        if not self._may_have_any(text):
            return text
        spans = self._json_spans(text)
        return _replaced(text, spans) if spans else text

    def text(self, text: str) -> str:
        """Return any other text without secrets."""
        if not self._may_have_any(text):
            return text
        for known in self._known:
            text = text.replace(known, REDACTED)
        if len(text) <= _LONG:
            return self._clean(text)
        spans = [(begin, end, self._clean(text[begin:end])) for begin, end in _windows(text)]
        return _replaced(text, spans)

    def header(self, name: str, value: str) -> str:
        """Return the value of a header without secrets; how one authorizes may be seen."""
        plain = _plain(name)
        if plain in ("authorization", "proxyauthorization"):
            scheme, _, credentials = value.strip().partition(" ")
            self.learn(credentials.strip())
            return f"{scheme} {REDACTED}" if credentials else REDACTED
        if self._is_secret(name):
            self.learn(value.strip())
            return REDACTED
        if plain in ("location", "referer", "contentlocation"):
            return self.url(value)
        return self.text(value)

    def words(self, words: Sequence[str]) -> list[str]:
        """Return the words of a command without secrets."""
        shown: list[str] = []
        is_next = False
        for word in words:
            is_option = word.startswith("-")
            shown.append(REDACTED if is_next and not is_option else self._word(word))
            is_next = is_option and "=" not in word and self._is_secret(word)
        return shown

    def url(self, url: str) -> str:
        """Return a URL, or the path and query of one, without secrets."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return self.text(url)
        host = parts.netloc.rpartition("@")[2]
        path = _secret_part.sub(REDACTED, parts.path)
        query = "&".join(
            self._parameter(*each) for each in parse_qsl(parts.query, keep_blank_values=True)
        )
        return self.text(urlunsplit((parts.scheme, host, path, query, "")))

    # --- what is secret

    def _is_secret(self, name: str) -> bool:
        return is_secret_name(name) or (bool(self._own_names) and _plain(name) in self._own_names)

    def _may_have_any(self, text: str) -> bool:
        if self._own_names or ("://" in text and "@" in text):
            return True
        lowered = text.lower()
        if any(hint in lowered for hint in _HINTS):
            return True
        return any(known in text for known in self._known)

    def _clean(self, text: str) -> str:
        text = _headers.sub(rf"\1\2{REDACTED}", text)
        text = _assigned.sub(self._unassigned, text)
        text = _codes.sub(f"code={REDACTED}", text)
        return _credentials.sub(_without_credentials, text)

    def _word(self, word: str) -> str:
        return self.url(word) if "://" in word and " " not in word else self.text(word)

    def _parameter(self, name: str, value: str) -> str:
        return f"{quote(name)}={REDACTED if self._is_secret(name) else quote(value)}"

    def _unassigned(self, match: re.Match[str]) -> str:
        if not self._is_secret(match["name"]):
            return match[0]
        return f"{match['name']}{match['to']}{REDACTED}"

    # --- in JSON

    def _json_spans(self, text: str) -> list[tuple[int, int, str]]:
        """Return what is to be replaced: from where to where, and by what."""
        spans: list[tuple[int, int, str]] = []
        place = _Place()
        for part in _json_parts.finditer(text):
            if part["colon"] is not None:
                place.name = _unquoted(part["string"])
            elif part[0] in "{[":
                place.enter(part.start(), is_hidden=_plain(place.name) in self._own_names)
            elif part[0] in "}]":
                begin = place.leave()
                if begin is not None:
                    spans.append((begin, part.end(), f'"{REDACTED}"'))
            elif not place.is_hidden:
                clean = self._clean_value(place, part[0])
                if clean != part[0]:
                    spans.append((part.start(), part.end(), clean))
        return spans

    def _clean_value(self, place: _Place, value: str) -> str:
        """Return a string, or another plain value, without what is secret in it."""
        if value in ('""', "true", "false", "null"):
            return value
        if place.is_in_environment or self._is_secret(place.name):
            if value[0] == '"' and any(map(str.isdigit, value)):
                self.learn(_unquoted(value))
            return f'"{REDACTED}"'
        if value[0] != '"':
            return value
        clean = self.text(value[1:-1])
        return f'"{clean}"' if clean == value[1:-1] or _is_sound(clean) else f'"{REDACTED}"'


class _Place:
    """Where in a JSON text one is."""

    def __init__(self) -> None:
        self.name = ""
        """The name of the member whose value comes; in a list that of the list."""
        self.is_in_environment = False
        self._names: list[str] = []  # those of the objects and lists around
        self._hidden_since: int | None = None  # how many of them are around what is hidden
        self._hidden_from = 0

    @property
    def is_hidden(self) -> bool:
        """Whether all of this is replaced."""
        return self._hidden_since is not None

    def enter(self, at: int, *, is_hidden: bool) -> None:
        """Begin an object or a list."""
        if is_hidden and self._hidden_since is None:
            self._hidden_since, self._hidden_from = len(self._names), at
        self._names.append(self.name)
        self._look_around()

    def leave(self) -> int | None:
        """End it; returns where it began if all of it is to be replaced."""
        self.name = self._names.pop() if self._names else ""
        self._look_around()
        if self._hidden_since is None or len(self._names) > self._hidden_since:
            return None
        self._hidden_since = None
        return self._hidden_from

    def _look_around(self) -> None:
        *_, outer, inner = ("", "", *self._names)
        self.is_in_environment = inner.lower() in _ENVIRONMENTS and outer != "properties"


def is_secret_name(name: str) -> bool:
    """Tell whether what has this name is most likely a secret.

    >>> [is_secret_name(each) for each in ("GITHUB_TOKEN", "X-Api-Key", "progressToken", "name")]
    [True, True, False, False]
    """
    plain = _plain(name)
    if plain in _HARMLESS:
        return False
    return plain in _NAMES or plain.endswith(_ENDINGS)


def _windows(text: str) -> list[tuple[int, int]]:
    """Return the parts of a long text that may have something secret in them."""
    if _blob(text):
        return []  # a picture
    lowered = text.lower()
    if len(lowered) != len(text):  # as that of some letters is; then places differ
        return [(0, len(text))]
    places = sorted(at for hint in (*_HINTS, "://") for at in _places(hint, lowered))
    windows: list[tuple[int, int]] = []
    for at in places:
        begin, end = max(0, at - _BEFORE_HINT), at + _BEHIND_HINT
        if windows and begin <= windows[-1][1]:
            windows[-1] = (windows[-1][0], end)
        else:
            windows.append((begin, end))
    return windows


def _places(hint: str, text: str) -> Iterator[int]:
    at = text.find(hint)
    while at >= 0:
        yield at
        at = text.find(hint, at + len(hint))


def _plain(name: str) -> str:
    """Return a name without case and punctuation."""
    return re.sub(r"[\W_]", "", name).lower()


def _without_credentials(match: re.Match[str]) -> str:
    scheme, before, behind = match["scheme"], match["before"], match["behind"]
    return f"{scheme or before or ''}{REDACTED}{behind or ''}"


def _unquoted(string: str) -> str:
    """Return what a string of JSON stands for."""
    if "\\" not in string:
        return string[1:-1]
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return string[1:-1]


def _is_sound(content: str) -> bool:
    """Tell whether this may stand between the quotes of a string of JSON."""
    if "\\" not in content:
        return True
    try:
        json.loads(f'"{content}"', strict=False)
    except ValueError:
        return False
    return True


def _replaced(text: str, spans: list[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    at = 0
    for begin, end, replacement in spans:
        pieces += (text[at:begin], replacement)
        at = end
    return "".join((*pieces, text[at:]))

"""Which web requests a server answers, by the host they are for and the page they come from.

A web page can have its own name resolve to 127.0.0.1 and so reach a server on the machine of who
looks at it; but it cannot forge `Host` and `Origin`. What follows guards an endpoint against that.
Spec: basic/transports/streamable-http#security-warning
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

__all__ = ["HostRefusal", "HostRules"]

_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")

_AUTHORITY: Final = (
    r"(?P<name>\[[0-9a-f:.]{2,45}\]|[^\s:/@?#,\\\[\]]{1,255})(:(?P<port>[0-9]{1,5}|\*))?"
)
_authority: Final = re.compile(_AUTHORITY).fullmatch
_origin: Final = re.compile(rf"(?P<scheme>[a-z][a-z0-9+.-]*)://{_AUTHORITY}").fullmatch

_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}

# Real traffic comes from a few pages and under a few names.
_MAX_REMEMBERED: Final = 256
_MAX_REMEMBERED_BYTES: Final = 512

# How much of a refused value a log gets to see.
_MAX_TOLD: Final = 200


class HostRefusal(msgspec.Struct, frozen=True):
    """Why a request is not answered; its status is 403."""

    reason: str
    """One sentence for the log: what was refused, and which setting would allow it."""

    header: str
    """`Host` or `Origin`."""


class _Host(NamedTuple):
    """A host as `Host` names it; in a list either part may be `*`, and the name `*.example.com`."""

    name: str
    port: str | None

    def admits(self, other: _Host) -> bool:
        """Tell whether this entry of a list means a host; without a port it means any."""
        return self.port in (None, "*", other.port) and _is_named(self.name, other.name)


class _Origin(NamedTuple):
    """An origin, its port filled in where the scheme has one."""

    scheme: str
    name: str
    port: str | None

    def admits(self, other: _Origin) -> bool:
        """Tell whether this entry of a list means an origin."""
        return (
            self.scheme == other.scheme
            and self.port in ("*", other.port)
            and _is_named(self.name, other.name)
        )

    def is_of(self, host: _Host) -> bool:
        """Tell whether it is the origin of what is fetched from a host.

        Whether that was by https is not known behind a proxy.
        """
        default = _DEFAULT_PORTS.get(self.scheme)
        return (
            default is not None
            and self.name == host.name
            and (self.port == host.port or (host.port is None and self.port == default))
        )


class HostRules:
    """Says which `Host` and which `Origin` a server accepts.

    A server bound to a loopback address answers to `localhost`, `127.0.0.1`, `[::1]`, the address
    it is bound to and what `allowed_hosts` adds, and to the web pages of those same hosts. All of
    that at any port: who forwards a port changes it, and a page cannot forge the name.

    Any other server answers to `allowed_hosts` alone, and to any host when that is not given; a
    request from a web page must come from the host that it is addressed to.

    In either case `allowed_origins` adds pages from elsewhere. A request without `Origin` is not
    from a web page of another site.

    Args:
        host: The address that the server is bound to; `None` if it is not known, or no address.
        allowed_hosts: Names such as `mcp.example.com`, at any port; `mcp.example.com:8443`, at
            that port; `*.example.com`, each name below it; `*`, any.
        allowed_origins: Origins such as `https://app.example.com`, `https://*.example.com`,
            `http://localhost:*`; `null`, what files and sandboxed pages send; `*`, any.

    Raises:
        TypeError: A list is a mere string.
        ValueError: An entry of a list cannot be read.
    """

    def __init__(
        self,
        *,
        host: str | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
    ) -> None:
        own = _own_names(host) if host is not None and _is_loopback(host) else []
        self._own_names = own
        self._listed_hosts = _entries("allowed_hosts", allowed_hosts)
        self._listed_origins = _entries("allowed_origins", allowed_origins)
        self._hosts = [_Host(name, None) for name in own]
        self._hosts += [_listed_host(entry) for entry in self._listed_hosts]
        self._any_origin = "*" in self._listed_origins
        self._null_origin = "null" in self._listed_origins
        self._origins = [
            _listed_origin(entry) for entry in self._listed_origins if entry not in ("*", "null")
        ]
        self.any_host = (not own and allowed_hosts is None) or "*" in self._listed_hosts
        """Whether `Host` does not matter; worth a warning when the server starts."""
        self._accepted: set[tuple[bytes | None, bytes | None]] = set()

    def refusal(self, host: bytes | None, origin: bytes | None) -> HostRefusal | None:
        """Return why a request is refused; `None` when it is not.

        Args:
            host: The value of its `Host`, `None` if it has none.
            origin: The value of its `Origin`, `None` if it has none.
        """
        pair = (host, origin)
        if pair in self._accepted:
            return None
        refusal = self._judge(host, origin)
        if refusal is None and len(host or b"") + len(origin or b"") <= _MAX_REMEMBERED_BYTES:
            if len(self._accepted) >= _MAX_REMEMBERED:
                self._accepted.clear()
            self._accepted.add(pair)
        return refusal

    def describe(self) -> str:
        """Return what is accepted, in one sentence for the log of a server that starts."""
        names = [*self._own_names, *self._listed_hosts]
        if self.any_host:
            hosts = "any Host"
            if not self._listed_hosts:
                hosts += " (set allowed_hosts to the names that this server has)"
        else:
            hosts = f"Host {', '.join(names)}" if names else "no Host"
        if self._any_origin:
            return f"accepts {hosts}, and any Origin"
        pages = ["the same host", *self._own_names, *self._listed_origins]
        return f"accepts {hosts}, and web pages of {', '.join(pages)}"

    def _judge(self, host: bytes | None, origin: bytes | None) -> HostRefusal | None:
        addressed = None if host is None else _read_host(host.decode("latin-1"))
        if not self.any_host and not (
            addressed is not None and any(entry.admits(addressed) for entry in self._hosts)
        ):
            return _refused_host(host)
        if origin is None or self._any_origin or self._is_allowed(origin, addressed):
            return None
        return _refused_origin(origin)

    def _is_allowed(self, value: bytes, addressed: _Host | None) -> bool:
        if value == b"null":
            return self._null_origin
        origin = _read_origin(value.decode("latin-1"))
        if origin is None:
            return False
        if origin.name in self._own_names and origin.scheme in _DEFAULT_PORTS:
            return True
        if addressed is not None and origin.is_of(addressed):
            return True
        return any(entry.admits(origin) for entry in self._origins)


def _is_named(pattern: str, name: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:]) and len(name) >= len(pattern)
    return pattern in ("*", name)


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    from ipaddress import ip_address  # noqa: PLC0415 - few servers are on the web

    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _own_names(host: str) -> list[str]:
    name = host.lower()
    if ":" in name and not name.startswith("["):
        name = f"[{name}]"
    return [*_LOOPBACK_NAMES] if name in _LOOPBACK_NAMES else [*_LOOPBACK_NAMES, name]


def _read_host(text: str) -> _Host | None:
    match = _authority(text.strip().lower())
    return None if match is None else _Host(match["name"].rstrip("."), match["port"])


def _read_origin(text: str) -> _Origin | None:
    match = _origin(text.strip().lower())
    if match is None:
        return None
    port = match["port"] or _DEFAULT_PORTS.get(match["scheme"])
    return _Origin(match["scheme"], match["name"].rstrip("."), port)


def _entries(setting: str, given: Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError(f"{setting} is a list; write [{given!r}]")
    return tuple(given or ())


def _listed_host(entry: str) -> _Host:
    host = _read_host(entry)
    if host is None:
        origin = _read_origin(entry.rstrip("/"))
        hint = f"write {origin.name!r}" if origin else "write one such as 'mcp.example.com'"
        raise ValueError(f"allowed_hosts: {entry!r} is no host; {hint}")
    return host


def _listed_origin(entry: str) -> _Origin:
    origin = _read_origin(entry)
    if origin is None:
        hint = f"https://{entry}" if _read_host(entry) else "https://app.example.com"
        raise ValueError(f"allowed_origins: {entry!r} is no origin; write one such as {hint!r}")
    return origin


def _refused_host(value: bytes | None) -> HostRefusal:
    if value is None:
        reason = "refused a request without Host: this server answers to certain names only"
        return HostRefusal(reason, "Host")
    text = value[:_MAX_TOLD].decode("latin-1")
    host = _read_host(text)
    reason = f"refused Host {text!r}: this server does not answer to that name"
    if host is not None:
        reason += f"; if it should, add {host.name!r} to allowed_hosts"
    return HostRefusal(reason, "Host")


def _refused_origin(value: bytes) -> HostRefusal:
    text = value[:_MAX_TOLD].decode("latin-1")
    reason = f"refused Origin {text!r}: web pages of that origin may not use this server"
    if text == "null" or _read_origin(text) is not None:
        reason += f"; if they may, add {text!r} to allowed_origins"
    return HostRefusal(reason, "Origin")

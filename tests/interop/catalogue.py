"""The peers: where they are installed, how they are started, and what they speak.

`tests/interop/setup.py` installs them.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.setup import find_node

HERE: Final = Path(__file__).resolve().parent
PEERS: Final = HERE / "peers"
INSTALLED: Final = HERE.parents[1] / ".interop"


def python_of(environment: str) -> str:
    """The Python of one peer's environment."""
    return str(INSTALLED / environment / "bin" / "python")


def modules_of(project: str) -> Path:
    """The folder in which one Node project keeps its node_modules."""
    return INSTALLED / "node" / project


@dataclass(frozen=True)
class Peer:
    """An SDK of someone else, with the client and the server that these tests wrote with it."""

    name: str
    label: str
    eras: tuple[str, ...]
    node: str | None = None
    """The Node project that holds it; a Python SDK has an environment of its own name."""

    @property
    def environ(self) -> dict[str, str]:
        """What its programs need in their environment."""
        return {"INTEROP_MODULES": str(modules_of(self.node))} if self.node else {}

    @property
    def server(self) -> list[str]:
        """The command of its server."""
        return self._program("server")

    def http_server(self, kind: str) -> list[str]:
        """The command of its server over HTTP, of a kind that `peers/contract.py` names."""
        return [*self.server, "--http", kind]

    def client(self, era: str, server: list[str]) -> list[str]:
        """The command of its client, launching `server` and speaking one era to it."""
        return [*self._program("client"), "--era", era, "--", *server]

    def http_client(self, era: str, url: str) -> list[str]:
        """The command of its client, speaking one era, or one revision, to a URL."""
        return self.client(era, [url])

    def protected_server(self, issuer: str) -> list[str]:
        """The command of its server that wants tokens of an issuer (`peers/protected.py`)."""
        return [*self._program("protected_server"), issuer]

    def login_client(self, url: str, *more: str) -> list[str]:
        """The command of its client that logs in to use a URL (`peers/protected.py`)."""
        return [*self._program("login_client"), url, *more]

    def _program(self, role: str) -> list[str]:
        if self.node:
            return ["node", str(PEERS / f"{self.name}_{role}.mjs")]
        return [python_of(self.name), str(PEERS / f"{self.name}_{role}.py")]


SDKS: Final = (
    Peer("mcp2", "official Python SDK 2.3.0", ("auto", "modern", "legacy")),
    Peer("mcp1", "official Python SDK 1.30.0", ("legacy",)),
    Peer("fastmcp4", "FastMCP 4.2.3", ("auto", "modern", "legacy")),
    Peer("tsv2", "official TypeScript SDK 2.4.0", ("auto", "modern", "legacy"), node="v2"),
    Peer("tsv1", "official TypeScript SDK 1.32.2", ("legacy",), node="v1"),
)

OURS: Final = [sys.executable, str(PEERS / "wigwag_server.py")]
ORACLE: Final = [python_of("mcp2"), str(PEERS / "mcp_types_oracle.py")]


def nginx() -> str | None:
    """The program of nginx: the machine's own, or the one that was unpacked."""
    unpacked = INSTALLED / "nginx" / "usr" / "sbin" / "nginx"
    return shutil.which("nginx") or (str(unpacked) if unpacked.exists() else None)


def chromium() -> tuple[str | None, dict[str, str]]:
    """The program of Chromium, and what it needs in its environment.

    It is the machine's own, or the one that was unpacked, with the libraries it came with.
    """
    for name in ("chromium-headless-shell", "chromium", "google-chrome"):
        if (found := shutil.which(name)) is not None:
            return found, {}
    libraries = INSTALLED / "chromium" / "usr" / "lib"
    program = libraries / "chromium" / "chromium-headless-shell"
    if not program.exists():
        return None, {}
    folders = sorted({str(path.parent) for path in libraries.glob("*-linux-gnu*/**/*.so*")})
    return str(program), {"LD_LIBRARY_PATH": os.pathsep.join(folders)}


def authorization_server(settings: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The command of an authorization server, and what it needs in its environment."""
    program = str(PEERS / "oidc_provider.mjs")
    environ = {"INTEROP_MODULES": str(modules_of("oidc"))}
    # It wants a newer Node than the other peers are content with.
    return [find_node(), program, json.dumps(settings)], environ


def published(package: str, *arguments: str) -> list[str]:
    """The command of a server that was published ready to run, on PyPI or on npm."""
    if package.startswith("mcp-server-"):
        return [str(INSTALLED / "published" / "bin" / package), *arguments]
    folder = modules_of("published") / "node_modules" / "@modelcontextprotocol" / package
    return ["node", str(folder / "dist" / "index.js"), *arguments]


def http_tap(folder: Path, url: str) -> list[str]:
    """The command of a wiretap for HTTP before a URL, which writes into `folder`."""
    return [sys.executable, "-I", "-S", str(HERE / "http_tap.py"), str(folder), url]


def tapped(folder: Path, command: list[str]) -> list[str]:
    """The same command with the wiretap before it, which writes into `folder`."""
    return [sys.executable, "-I", "-S", str(HERE / "wiretap.py"), str(folder), "--", *command]

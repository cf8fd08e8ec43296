"""What the protected servers of peers serve, and what their clients do there.

A protected server is called with an issuer. It serves over HTTP at a free port of this machine,
prints the URL on one line, and lets in whoever has a JWT of that issuer, for this URL and with the
scope `notes:read`. Its tool `whoami()` tells, as JSON, the `subject`, the `client` and the `scopes`
of the caller.

A client is called with a URL. It logs in as `login.py` does, and calls `whoami`; with `write` after
the URL, it then calls `write`, for which a server of ours wants the scope `notes:write` too, and
`whoami` once more. It prints one JSON object with what came of each: `whoami`, `write` and `whoami
again`.
"""

import json
import socket
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import login

ISSUER = sys.argv[1]
SCOPE = "notes:read"
ALGORITHM = "ES256"
REDIRECT_URI = "http://127.0.0.1:33418/callback"
"""Nobody has to listen there: `login.py` says where it was sent."""


def listen() -> tuple[socket.socket, str]:
    """Takes a port; returns its socket, and the URL to serve at."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


def serve(app: Any, listener: socket.socket, url: str) -> None:
    """Serves an ASGI application, until the process is ended."""
    import uvicorn  # noqa: PLC0415 - clients do not need it

    print(url, flush=True)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


def keys_of(issuer: str) -> str:
    """The URL of the keys with which an issuer signs."""
    with urllib.request.urlopen(f"{issuer}/.well-known/oauth-authorization-server") as answer:
        url: str = json.load(answer)["jwks_uri"]
    return url


def caller(subject: str | None, client: str, scopes: Collection[str]) -> str:
    """What `whoami` answers."""
    return json.dumps({"subject": subject, "client": client, "scopes": sorted(scopes)})


async def tour(call: Callable[[str], Awaitable[str]]) -> None:
    """Does what a client does, and prints what came of it."""
    report = {"whoami": json.loads(await call("whoami"))}
    if "write" in sys.argv[2:]:
        report["write"] = await call("write")
        report["whoami again"] = json.loads(await call("whoami"))
    print(json.dumps(report), flush=True)


class Memory:
    """Where the official SDK keeps tokens, as both of its lines want it."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Login:
    """The two handlers of the official SDK: go there, and say what came back."""

    def __init__(self) -> None:
        self.back = ""

    async def go(self, url: str) -> None:
        self.back = login.log_in(url)

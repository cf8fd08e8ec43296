"""What answers where no HTTP/1.1 is spoken, going by the first bytes that it sends."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Final

from wigwag.doctor.findings import Finding
from wigwag.doctor.url_checks.certificates import context_of
from wigwag.doctor.url_checks.exchanges import Asker
from wigwag.oauth.urls import Url, read_url

__all__ = ["explain_first_bytes"]

_REQUEST: Final = "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
# How a client begins that knows HTTP/2 to be spoken: the preface, and settings that are all usual.
_HTTP2: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))

_TLS_ALERT: Final = b"\x15\x03"
_SETTINGS: Final = 4
_MAX_BYTES: Final = 256


async def explain_first_bytes(asker: Asker) -> Finding | None:
    """Return what a port speaks in place of HTTP/1.1; `None` if that cannot be told.

    Raises:
        TransportError: The file of certificates cannot be read.
    """
    url = read_url(asker.url)
    context = context_of(asker) if url.scheme == "https" else None
    got = await _send(asker, url, context, _REQUEST.format(host=url.host).encode())
    if got.startswith(_TLS_ALERT):
        return Finding(
            "http-to-tls-port",
            "error",
            "the port speaks TLS, and the URL says http",
            "it answers a plain request with an alert of TLS",
            f"write {asker.name.replace('http://', 'https://', 1)}",
        )
    if not got:
        got = await _send(asker, url, context, _HTTP2)
    if len(got) > _SETTINGS and got[3] == _SETTINGS and got[5:9] == bytes(4):
        return Finding(
            "http2-only",
            "error",
            f"{url.host} takes HTTP/2 only",
            "it answers with the settings of HTTP/2",
            "let it speak HTTP/1.1 as well, as many clients speak nothing else; put no gRPC port "
            "into the URL",
        )
    if not got or got.startswith(b"HTTP/"):
        return None
    return Finding(
        "not-http",
        "error",
        "what listens at the port does not speak HTTP",
        f"it says: {asker.told(got.decode('latin-1')) or got.hex()}",
        f"see whether {url.port} is the right port; a server that is reached by tcp:// or as a "
        "process has no URL of http",
    )


async def _send(asker: Asker, url: Url, context: ssl.SSLContext | None, data: bytes) -> bytes:
    """Return the first bytes that are sent in answer; none if there are none in time."""
    got = b""
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(asker.patience.connect):
            reader, writer = await asyncio.open_connection(url.host, url.port, ssl=context)
            try:
                writer.write(data)
                got = await reader.read(_MAX_BYTES)
            finally:
                writer.close()
    return got

"""Whether there is a secure connection, and if not, why."""

from __future__ import annotations

import asyncio
import ssl
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.url_checks.exchanges import Asker
from wigwag.errors import TransportError
from wigwag.oauth.urls import Url
from wigwag.transports.http_client_engine import words_of

__all__ = ["check_certificate", "context_of"]

# Certificates that are renewed by a program are renewed long before.
_SOON: Final = 7 * 24 * 3600.0

# The numbers of OpenSSL for what is wrong with a certificate.
_EXPIRED: Final = 10
_NOT_YET: Final = 9
_WRONG_NAME: Final = (62, 64)
_SELF_SIGNED: Final = 18
_UNKNOWN_ISSUER: Final = (19, 20, 21)

# What OpenSSL calls an answer that is no TLS at all.
_NO_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
)


async def check_certificate(asker: Asker, url: Url, facts: Facts) -> Finding | None:
    """Begin a secure connection as a client does; return what is wrong with it.

    Raises:
        TransportError: The file of certificates cannot be read.
    """
    context = context_of(asker)
    try:
        async with asyncio.timeout(asker.patience.connect):
            _, writer = await asyncio.open_connection(
                url.host, url.port, ssl=context, server_hostname=url.host
            )
    except TimeoutError:
        return _no_tls(url, f"no TLS handshake within {asker.patience.connect:g} s")
    except ssl.SSLCertVerificationError as error:
        details = await _certificate_of(asker, url)
        return _distrusted(url, error, details)
    except ssl.SSLError as error:
        return _no_handshake(url, error)
    except OSError as error:
        return _no_tls(url, f"the connection was closed: {words_of(error)}")
    try:
        return _judge(url, writer.get_extra_info("ssl_object"), facts)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def context_of(asker: Asker) -> ssl.SSLContext:
    """Return how secure connections are begun.

    Raises:
        TransportError: The file of certificates cannot be read.
    """
    if isinstance(asker.tls, ssl.SSLContext):
        return asker.tls
    try:
        context = ssl.create_default_context(cafile=asker.tls)
    except OSError as error:
        raise TransportError(f"cannot read certificates from {asker.tls}: {error}") from error
    context.set_alpn_protocols(["http/1.1"])  # as HTTP clients of Python do
    return context


def _judge(url: Url, secured: Any, facts: Facts) -> Finding | None:
    certificate = secured.getpeercert() or {}
    facts["tls"] = secured.version()
    until = certificate.get("notAfter")
    if until is None:
        return None
    ends = ssl.cert_time_to_seconds(until)
    facts["certificate_until"] = datetime.fromtimestamp(ends, UTC).isoformat()
    left = ends - time.time()
    if left > _SOON:
        return None
    return Finding(
        "certificate-expires-soon",
        "warning",
        f"the certificate of {url.host} expires in {left / 86400:.1f} days",
        f"it is valid until {until}",
        "see that whatever renews it still runs",
    )


def _distrusted(url: Url, error: ssl.SSLCertVerificationError, details: str) -> Finding:
    evidence = f"{error.verify_message or words_of(error)}\n{details}".rstrip()
    code = error.verify_code
    if code == _EXPIRED:
        return Finding(
            "certificate-expired",
            "error",
            f"the certificate of {url.host} has expired",
            evidence,
            "renew it and let the server load it anew; if it is new, the clock of this machine is "
            "wrong, or another server answers at this address",
        )
    if code == _NOT_YET:
        return Finding(
            "certificate-not-yet-valid",
            "error",
            f"the certificate of {url.host} is not valid yet",
            evidence,
            "set the clock of this machine right, or wait",
        )
    if code in _WRONG_NAME:
        return Finding(
            "certificate-wrong-name",
            "error",
            f"the certificate is for another name than {url.host}",
            evidence,
            "use the name that the certificate is for, or get one that has this name in it",
        )
    advice = (
        "get a certificate from an authority that clients know; or make the authority known to the "
        "host: SSL_CERT_FILE for Python, NODE_EXTRA_CA_CERTS for hosts on Node"
    )
    if code in _UNKNOWN_ISSUER:
        advice = (
            f"let the server send the whole chain (fullchain.pem), not just its own; or {advice}"
        )
    what = "signed by itself" if code == _SELF_SIGNED else "of an authority that is not known here"
    return Finding(
        "certificate-not-trusted",
        "error",
        f"the certificate of {url.host} is {what}",
        evidence,
        advice,
    )


def _no_handshake(url: Url, error: ssl.SSLError) -> Finding:
    words = words_of(error)
    reason = error.reason or ""
    if "no application protocol" in words.lower():
        return Finding(
            "http2-only",
            "error",
            f"{url.host} takes HTTP/2 only",
            words,
            "let it speak HTTP/1.1 as well, as many clients speak nothing else",
        )
    if reason in _NO_TLS:
        return _no_tls(url, words)
    if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason:
        advice = "give the host a client certificate, if the server wants one"
    else:
        advice = "let the server speak TLS 1.2 or 1.3"
    return Finding("tls-failed", "error", f"no secure connection to {url.host}", words, advice)


def _no_tls(url: Url, evidence: str) -> Finding:
    return Finding(
        "https-to-plain-port",
        "error",
        f"port {url.port} of {url.host} does not speak TLS",
        evidence,
        "write http:// if that is meant to be so, or the port that has TLS (443); a server behind "
        "a proxy speaks plain HTTP, and the proxy TLS",
    )


async def _certificate_of(asker: Asker, url: Url) -> str:
    """Return what a certificate that is not trusted says; empty if that cannot be told."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # only to look at it: nothing is sent
    try:
        async with asyncio.timeout(asker.patience.connect):
            _, writer = await asyncio.open_connection(
                url.host, url.port, ssl=context, server_hostname=url.host
            )
    except (TimeoutError, OSError):
        return ""
    try:
        data = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    return "" if data is None else asker.told(_described(data))


def _described(data: bytes) -> str:
    try:
        from cryptography import x509  # noqa: PLC0415 - rarely needed
    except ImportError:
        return ""
    try:
        found = x509.load_der_x509_certificate(data)
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        listed = [str(name) for name in names.get_values_for_type(x509.DNSName)]
        listed += [str(name) for name in names.get_values_for_type(x509.IPAddress)]
    except (ValueError, x509.ExtensionNotFound):
        return ""
    issuer = found.issuer.rfc4514_string()
    since, until = found.not_valid_before_utc, found.not_valid_after_utc
    return f"for {', '.join(listed[:8])}; from {since:%Y-%m-%d} until {until:%Y-%m-%d}; by {issuer}"

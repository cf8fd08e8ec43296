"""Finds out what is wrong with the resources that a server lists, and reads some of them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import UNSET

from wigwag.client.client import Client
from wigwag.doctor.content_checks.asking import ask_for
from wigwag.doctor.content_checks.media import check_icons, check_mime_type
from wigwag.doctor.content_checks.shapes import fault_of
from wigwag.doctor.findings import Finding
from wigwag.errors import RequestFailed, RequestTimedOut
from wigwag.schema import RESOURCES_READ, ReadResourceResult

__all__ = ["check_resources", "check_templates"]

_has_scheme: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.").match

# So many are read: where these are right, the rest most likely is.
_MAX_READ: Final = 10


async def check_resources(client: Client, resources: list[dict[str, Any]]) -> list[Finding]:
    """Find what is wrong with resources, of which some are read.

    Args:
        client: A connected client of the server.
        resources: As the server lists them.

    Raises:
        TransportError: The server has gone.
    """
    findings: list[Finding] = []
    uris = []
    for resource in resources:
        uri = resource.get("uri")
        if not isinstance(uri, str):
            continue  # which is told of the list
        findings += [*check_mime_type(resource, uri), *check_icons(resource, uri)]
        if _has_scheme(uri):
            uris.append(uri)
        else:
            findings.append(_no_uri(uri))
    for uri in uris[:_MAX_READ]:
        try:
            findings += await _read(client, uri)
        except RequestTimedOut as error:
            findings.append(_unreadable(uri, error))
            break  # it would take as long for the others
    return findings


def check_templates(templates: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield what is wrong with resource templates, as the server lists them."""
    from wigwag.server.uris.templates import UriTemplate  # noqa: PLC0415 - few servers have any

    for template in templates:
        text = template.get("uriTemplate")
        if not isinstance(text, str):
            continue
        yield from check_mime_type(template, text)
        yield from check_icons(template, text)
        try:
            UriTemplate(text)
        except ValueError as error:
            yield Finding(
                "template-malformed",
                "error",
                "hosts cannot make URIs from a resource template",
                str(error),
                "write a template of RFC 6570, such as docs://{path}",
                text,
            )


def _no_uri(uri: str) -> Finding:
    return Finding(
        "resource-uri-malformed",
        "error",
        "what a resource is found by is no URI, and strict hosts refuse the list",
        f"uri {uri!r} has no scheme",
        "begin it with a scheme, such as file:/// or one of your own",
        uri,
    )


async def _read(client: Client, uri: str) -> list[Finding]:
    try:
        result = await ask_for(client, RESOURCES_READ, {"uri": uri})
    except RequestFailed as error:
        return [_unreadable(uri, error)]
    return [] if result is UNSET else list(_about_contents(result, uri))


def _unreadable(uri: str, error: Exception) -> Finding:
    return Finding(
        "resource-unreadable",
        "error",
        "a resource is listed that cannot be read",
        str(error),
        "see why in the log of the server; list what can be read",
        uri,
    )


def _about_contents(result: Any, uri: str) -> Iterator[Finding]:
    fault = _fault_of(result)
    if fault is not None:
        yield Finding(
            "malformed-contents",
            "error",
            "what is read is not as its schema wants it, and strict hosts refuse it",
            fault,
            "give `contents`, an array, each with a uri, and text or a blob in base64",
            uri,
        )
        return
    if not result["contents"]:
        yield Finding(
            "resource-empty",
            "warning",
            "a resource is read without an error, and there is nothing",
            '"contents": []',
            "answer with an error when a resource is not there, and with an empty text when it is "
            "empty",
            uri,
        )
    for contents in result["contents"]:
        yield from check_mime_type(contents, uri)


def _fault_of(result: Any) -> str | None:
    fault = fault_of(result, ReadResourceResult)
    if fault is not None:
        return fault
    for contents in result["contents"]:
        if ("text" in contents) == ("blob" in contents):
            return "contents have a text or a blob, one of the two"
        try:
            base64.b64decode(contents.get("blob", ""), validate=True)
        except (binascii.Error, ValueError) as error:
            return f"the blob is no base64: {error}"
    return None

"""Pictures, sounds and files out of results, written to a folder.

Spec: server/tools#tool-result, server/resources#resource-contents
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import UNSET

from wigwag.errors import InvalidResult
from wigwag.schema.content import (
    AnyContent,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    UnknownContent,
)
from wigwag.schema.resource_contents import ResourceContents

__all__ = ["data_in", "save_content"]

_MAX_NAME_BYTES: Final = 80
_NOT_IN_NAMES: Final = re.compile(r"[^\w.\-]+")
# Files of Windows, whatever stands behind the dot.
_DEVICES: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
# What `mimetypes` has no or an odd ending for.
_ENDINGS: Final = {
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/mp3": ".mp3",
    "audio/ogg": ".ogg",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "text/markdown": ".md",
    "text/plain": ".txt",
}


def data_in(content: AnyContent | UnknownContent | ResourceContents) -> bytes | None:
    """Return the bytes of a picture, a sound or a resource; `None` of what is none of these.

    Raises:
        InvalidResult: They are not in base64, as they should be.
    """
    if isinstance(content, EmbeddedResource):
        content = content.resource
    if isinstance(content, ResourceContents) and content.blob is UNSET:
        return None if content.text is UNSET else content.text.encode()
    if isinstance(content, ResourceContents):
        encoded = str(content.blob)
    elif isinstance(content, ImageContent | AudioContent):
        encoded = content.data
    else:
        return None
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidResult("what should be base64 in the result is not") from None


def save_content(
    content: AnyContent | UnknownContent | ResourceContents,
    folder: str | os.PathLike[str],
    *,
    name: str = "",
) -> Path | None:
    """Write a picture, a sound or a resource to a new file, and return its path.

    A file that is there already is never overwritten: the new one gets a number. However a server
    names things, the file is in the folder and nowhere else.

    Args:
        content: A block of content, or what was read of a resource.
        folder: Where to; it is made if it is not there.
        name: What the file is called, without an ending; by default as the resource, or after the
            kind of the content.

    Returns:
        The file; `None` for content that is none of these, such as text.

    Raises:
        InvalidResult: The content is not in base64, as it should be.
        OSError: The file cannot be written.
    """
    data = data_in(content)
    if data is None:
        return None
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    stem, ending = _name_of(content, name)
    number = 1
    while True:
        path = where / (f"{stem}{ending}" if number == 1 else f"{stem}-{number}{ending}")
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError:
            number += 1
        else:
            return path


def _name_of(content: AnyContent | UnknownContent | ResourceContents, name: str) -> tuple[str, str]:
    """Return the name of the file for a content, and its ending."""
    resource = content.resource if isinstance(content, EmbeddedResource) else content
    ending = _ending(getattr(resource, "mime_type", UNSET), resource)
    if name or not isinstance(resource, ResourceContents):
        return _safe(name or str(getattr(resource, "type", "content"))), ending
    last = _safe(_last_part(resource.uri))
    stem, own_ending = os.path.splitext(last)
    return (stem, own_ending) if own_ending else (last, ending)


def _last_part(uri: str) -> str:
    try:
        path = urlsplit(uri).path
    except ValueError:  # whatever a server calls a URI
        path = uri
    return unquote(path.rstrip("/").rpartition("/")[2])


def _ending(mime_type: object, content: object) -> str:
    kind = mime_type.partition(";")[0].strip().lower() if isinstance(mime_type, str) else ""
    found = _ENDINGS.get(kind) or mimetypes.guess_extension(kind)
    if found is None and isinstance(content, ResourceContents) and content.text is not UNSET:
        return ".txt"
    return found or ".bin"


def _safe(name: str) -> str:
    """Return a name that is one of a file in every folder, and no path."""
    safe = (
        _NOT_IN_NAMES.sub("-", name).strip(".-_").encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
    )
    return f"_{safe}" if _DEVICES.fullmatch(safe) else safe or "content"

"""Pictures, sounds and files as the functions of a server return them.

Spec: server/tools#tool-result
"""

from __future__ import annotations

import base64
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from wigwag.schema import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    TextResourceContents,
)

C = TypeVar("C", ImageContent, AudioContent)

# As hosts and model APIs call them. What a system has in its own tables differs.
MIME_TYPES: Final = {
    "aac": "audio/aac",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "csv": "text/csv",
    "flac": "audio/flac",
    "gif": "image/gif",
    "heic": "image/heic",
    "html": "text/html",
    "ico": "image/x-icon",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "m4a": "audio/mp4",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "oga": "audio/ogg",
    "ogg": "audio/ogg",
    "opus": "audio/opus",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "toml": "application/toml",
    "txt": "text/plain",
    "wav": "audio/wav",
    "weba": "audio/webm",
    "webp": "image/webp",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
}

# How data begins, and the bytes from the eighth on where that is not enough.
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", b"", "image/png"),
    (b"\xff\xd8\xff", b"", "image/jpeg"),
    (b"GIF87a", b"", "image/gif"),
    (b"GIF89a", b"", "image/gif"),
    (b"RIFF", b"WEBP", "image/webp"),
    (b"RIFF", b"WAVE", "audio/wav"),
    (b"OggS", b"", "audio/ogg"),
    (b"fLaC", b"", "audio/flac"),
    (b"ID3", b"", "audio/mpeg"),
    (b"\xff\xfb", b"", "audio/mpeg"),
    (b"%PDF-", b"", "application/pdf"),
)

_TEXTUAL: Final = ("json", "xml", "yaml", "toml", "javascript", "sql", "x-sh")


class Media(ABC):
    """What `Image`, `Audio` and `File` have in common."""

    _kind: ClassVar[str] = ""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        data: bytes | bytearray | memoryview | None = None,
        format: str | None = None,
        *,
        mime_type: str | None = None,
        annotations: Annotations | Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        if (path is None) == (data is None):
            raise ValueError(f"{type(self).__name__} needs a path or data, and not both")
        if format is not None and mime_type is not None:
            raise ValueError("`format` and `mime_type` say the same: leave one of them out")
        self.path = None if path is None else Path(path)
        self.data = self.path.read_bytes() if self.path is not None else bytes(data or b"")
        self.mime_type = mime_type or self._find_mime_type(format)
        self.annotations: Annotations | UnsetType = UNSET
        if annotations is not None:
            try:
                self.annotations = msgspec.convert(annotations, Annotations)
            except msgspec.ValidationError as error:
                raise ValueError(f"annotations: {error}") from None
        self.meta: dict[str, Any] | UnsetType = UNSET if meta is None else dict(meta)

    @abstractmethod
    def to_content(self) -> ContentBlock:
        """Return it as a content block."""

    def _find_mime_type(self, format: str | None) -> str:
        if format is not None:
            return self._of_format(format.lower().removeprefix("."))
        suffix = "" if self.path is None else self.path.suffix.lower().removeprefix(".")
        found = MIME_TYPES.get(suffix) or _sniff(self.data)
        if found is None and suffix:
            import mimetypes  # noqa: PLC0415 - it reads files of the system

            found = mimetypes.guess_type(f"x.{suffix}")[0]
        if found is not None and found.startswith(self._kind):
            return found
        return self._of_unknown(found)

    def _of_format(self, format: str) -> str:
        if "/" in format:
            return format
        known = MIME_TYPES.get(format, "")
        return known if known.startswith(self._kind) and known else f"{self._kind}{format}"

    def _of_unknown(self, found: str | None) -> str:
        name = type(self).__name__
        what = "the data" if self.path is None else f"{self.path.name}"
        looks = "nothing says what format it has" if found is None else f"it is {found}"
        raise ValueError(f"{name} of {what}: {looks}; say it with format= or mime_type=")

    def _encoded(self) -> str:
        return base64.b64encode(self.data).decode()

    def _as(self, kind: type[C]) -> C:
        return kind(
            data=self._encoded(),
            mime_type=self.mime_type,
            annotations=self.annotations,
            meta=self.meta,
        )


class Image(Media):
    """A picture for the model to see, from memory or from a file, which is read at once.

    Args:
        path: The file. Either this or `data` is needed.
        data: The bytes.
        format: The suffix that such files have, or what follows the slash in the MIME type.
        mime_type: The MIME type itself, such as `image/png`. Without it and `format`, the suffix of
            the file tells, or how the data begins.
        annotations: For whom it is and how much it matters, as `Annotations` or as its members.
        meta: For the program that reads it, by keys with a prefix.

    Raises:
        ValueError: There is no data, or nothing says of which format it is.
        OSError: The file cannot be read.
    """

    _kind = "image/"

    def to_content(self) -> ImageContent:
        """Return it as a content block."""
        return self._as(ImageContent)

    to_image_content = to_content


class Audio(Media):
    """A sound for the model to hear, from memory or from a file, which is read at once.

    Args:
        path: The file. Either this or `data` is needed.
        data: The bytes.
        format: The suffix that such files have, or what follows the slash in the MIME type.
        mime_type: The MIME type itself, such as `audio/wav`. Without it and `format`, the suffix of
            the file tells, or how the data begins.
        annotations: For whom it is and how much it matters, as `Annotations` or as its members.
        meta: For the program that reads it, by keys with a prefix.

    Raises:
        ValueError: There is no data, or nothing says of which format it is.
        OSError: The file cannot be read.
    """

    _kind = "audio/"

    def to_content(self) -> AudioContent:
        """Return it as a content block."""
        return self._as(AudioContent)

    to_audio_content = to_content


class File(Media):
    """A file with its contents, as text if it is some.

    Args:
        path: The file. Either this or `data` is needed.
        data: The bytes.
        format: The suffix that such files have, or what follows the slash in the MIME type.
        name: What to call it, in its URI.
        uri: Its URI; by default that of the name, and not where it is on this computer.
        mime_type: The MIME type itself. Without it and `format`, the suffix of the file tells.
        annotations: For whom it is and how much it matters, as `Annotations` or as its members.
        meta: For the program that reads it, by keys with a prefix.

    Raises:
        ValueError: There is no data.
        OSError: The file cannot be read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        data: bytes | bytearray | memoryview | str | None = None,
        format: str | None = None,
        name: str | None = None,
        *,
        uri: str | None = None,
        mime_type: str | None = None,
        annotations: Annotations | Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        if path is None and name is not None and format is None and mime_type is None:
            mime_type = MIME_TYPES.get(Path(name).suffix.lower().removeprefix("."))
        super().__init__(
            path,
            data.encode() if isinstance(data, str) else data,
            format,
            mime_type=mime_type,
            annotations=annotations,
            meta=meta,
        )
        if name is None:
            name = "file" if self.path is None else self.path.name
        self.name = name
        self.uri = uri or _uri_of(name)

    def to_content(self) -> EmbeddedResource:
        """Return it as a content block."""
        return EmbeddedResource(
            resource=self._contents(), annotations=self.annotations, meta=self.meta
        )

    to_resource_content = to_content

    def _contents(self) -> ResourceContents:
        text = text_of(self.data) if is_textual(self.mime_type) else None
        if text is not None:
            return TextResourceContents(uri=self.uri, text=text, mime_type=self.mime_type)
        return BlobResourceContents(uri=self.uri, blob=self._encoded(), mime_type=self.mime_type)

    def _of_format(self, format: str) -> str:
        if "/" in format:
            return format
        return MIME_TYPES.get(format) or f"application/{format}"

    def _of_unknown(self, found: str | None) -> str:
        is_text = text_of(self.data) is not None
        return found or ("text/plain" if is_text else "application/octet-stream")


def _sniff(data: bytes) -> str | None:
    for head, at_eight, mime_type in _SIGNATURES:
        if data.startswith(head) and data[8:].startswith(at_eight):
            return mime_type
    return None


def is_textual(mime_type: str) -> bool:
    """Tell whether what has this type is text."""
    kind, _, subtype = mime_type.partition(";")[0].strip().partition("/")
    return kind == "text" or subtype.rpartition("+")[2] in _TEXTUAL


def text_of(data: bytes) -> str | None:
    """Return bytes as text, if they are UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _uri_of(name: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415 - few return files

    return f"file:///{quote(name)}"

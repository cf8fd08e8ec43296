"""Files and directories as resources.

Functions here block; they run in worker threads.
Spec: server/resources
"""

from __future__ import annotations

import errno
import heapq
import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from wigwag.errors import ResourceNotFound, ToolError
from wigwag.schema import (
    Annotations,
    BlobResourceContents,
    ResourceContents,
    TextResourceContents,
)
from wigwag.server.results.media import MIME_TYPES, is_textual, text_of
from wigwag.server.suggestions import choose

DEFAULT_MAX_FILE_BYTES: Final = 16 * 1024 * 1024
MAX_ENTRIES: Final = 1000
"""How many entries a listing has at most, and how many files can be listed as resources."""

AnyPath = str | os.PathLike[str]

# What is no regular file is not waited for, and a link that came in between is not followed.
_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_NOT_THERE: Final = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.EINVAL,
    errno.EISDIR,
)


class FileSource:
    """A file as a resource.

    Args:
        path: Where it is.
        mime_type: What it is; by default told by its name.
        max_bytes: How long it may be to be read.
    """

    def __init__(
        self,
        path: AnyPath,
        mime_type: str | None = None,
        max_bytes: int = DEFAULT_MAX_FILE_BYTES,
    ) -> None:
        self._path = os.path.abspath(os.fspath(path))
        self._mime_type = mime_type or mime_type_of(self._path)
        self._max_bytes = max_bytes

    def describe(self) -> dict[str, Any]:
        """Return what is known of the file now, by the names of the options of `resource`.

        Raises:
            OSError: There is no such file.
        """
        status = os.stat(self._path)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no file", self._path)
        return {
            "name": os.path.basename(self._path),
            "description": f"The file {os.path.basename(self._path)}.",
            "mime_type": self._mime_type,
            "size": status.st_size,
            "annotations": Annotations(last_modified=_moment(status.st_mtime)),
        }

    def read(self) -> str | bytes:
        """Return what the file holds.

        Raises:
            ResourceNotFound: It has vanished.
            ToolError: It is too long, or may not be read.
        """
        # Whoever registered a link meant what it leads to.
        data = _read(os.path.realpath(self._path), self._max_bytes)
        return _text_or_bytes(data, self._mime_type)


class DirectorySource:
    """What is below a directory, as resources of one template; nothing that is elsewhere.

    Args:
        uri: What the URIs begin with, up to the slash before the path in the directory.
        path: Where the directory is.
        pattern: Which files there are: a pattern for their names, or with a slash in it for their
            paths, where `*` matches slashes, too.
        hidden: Whether what begins with a dot is there.
        max_bytes: How long a file may be to be read.

    Attributes:
        uri: What the URIs begin with, and where the directory itself is listed.
        template: The URIs of everything in it.

    Raises:
        ValueError: The URI is no beginning of one.
        OSError: There is no such directory.
    """

    def __init__(
        self,
        uri: str,
        path: AnyPath,
        *,
        pattern: str = "*",
        hidden: bool = False,
        max_bytes: int = DEFAULT_MAX_FILE_BYTES,
    ) -> None:
        if ":" not in uri or any(char in uri for char in "{}?#"):
            raise ValueError(f"{uri!r} is no beginning of a URI, as docs://handbook/ would be")
        self.uri = uri if uri.endswith("/") else uri + "/"
        self.template = self.uri + "{+path}"
        self._root = os.path.abspath(os.fspath(path))
        self._pattern = pattern
        self._hidden = hidden
        self._max_bytes = max_bytes
        if not os.path.isdir(self._root):
            raise NotADirectoryError(errno.ENOTDIR, "there is no such directory", self._root)

    @property
    def name(self) -> str:
        """The name of the directory."""
        return os.path.basename(self._root) or "files"

    def read(self, path: str) -> ResourceContents | dict[str, Any]:
        """Return what a file holds, or what is in a directory below this one.

        Raises:
            ResourceNotFound: There is nothing that is to be seen.
            ToolError: The file is too long, or may not be read.
        """
        real = self._find(path)
        if os.path.isdir(real):
            return self._list(real, path.removesuffix("/"))
        if path.endswith("/") or not self._shows(path):
            raise ResourceNotFound
        uri, mime_type = self._uri_of(path), mime_type_of(path)
        data = _text_or_bytes(_read(real, self._max_bytes), mime_type)
        if isinstance(data, str):
            kind = mime_type or "text/plain"
            return TextResourceContents(uri=uri, text=data, mime_type=kind)
        import base64  # noqa: PLC0415 - many files are text

        kind = mime_type or "application/octet-stream"
        return BlobResourceContents(uri=uri, blob=base64.b64encode(data).decode(), mime_type=kind)

    def read_root(self) -> dict[str, Any]:
        """Return what is in the directory itself.

        Raises:
            ResourceNotFound: It has vanished.
        """
        return self._list(self._find(""), "")

    def complete(self, typed: str) -> list[str]:
        """Return the paths that begin with what was typed, as far as the next slash."""
        folder, slash, begun = typed.rpartition("/")
        if slash and not folder:
            return []
        try:
            entries = self._entries(self._find(folder), folder)
            names = [name + "/" if is_folder else name for name, is_folder in entries]
        except ResourceNotFound:
            return []
        return [folder + slash + name for name in choose(sorted(names), begun)]

    def files(self) -> list[tuple[str, FileSource]]:
        """Return the URI of every file in the directory and below, and the file, in order.

        Raises:
            ValueError: There are more than can be listed.
        """
        found = list(islice(self._files(""), MAX_ENTRIES + 1))
        if len(found) > MAX_ENTRIES:
            raise ValueError(
                f"{self._root} has more than {MAX_ENTRIES} files: leave out listed=True, and "
                "clients find them by the template"
            )
        return found

    # --- finding

    def _find(self, path: str) -> str:
        """Return where something is, without links, and see to it that it is in the directory.

        Raises:
            ResourceNotFound: It is not.
        """
        parts = path.removesuffix("/").split("/") if path else []
        if any(part in ("", ".", "..") for part in parts) or self._hides(parts):
            raise ResourceNotFound
        try:
            root = os.path.realpath(self._root)
            real = os.path.realpath(os.path.join(root, *parts))
            inside = os.path.relpath(real, root)
            mode = os.stat(real).st_mode
        except (OSError, ValueError):  # a name with NUL, another drive
            raise ResourceNotFound from None
        found = [] if inside == os.curdir else inside.split(os.sep)
        if os.pardir in found or self._hides(found):
            raise ResourceNotFound
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise ResourceNotFound
        return real

    def _hides(self, parts: list[str]) -> bool:
        return not self._hidden and any(part.startswith(".") for part in parts)

    def _shows(self, path: str) -> bool:
        name = path if "/" in self._pattern else path.rpartition("/")[2]
        return fnmatchcase(name, self._pattern)

    def _uri_of(self, path: str) -> str:
        from urllib.parse import quote  # noqa: PLC0415 - most servers start without it

        return self.uri + quote(path, safe="/")

    # --- listing

    def _entries(self, real: str, path: str) -> Iterator[tuple[str, bool]]:
        """Yield the names in a directory, and whether they are directories.

        Raises:
            ResourceNotFound: It is none, or may not be looked into.
        """
        try:
            with os.scandir(real) as entries:
                for entry in entries:
                    inner = f"{path}/{entry.name}" if path else entry.name
                    if not _is_utf_8(entry.name) or self._hides([entry.name]):
                        continue
                    if entry.is_symlink() and not self._leads_inside(inner):
                        continue
                    is_folder = entry.is_dir()
                    if is_folder or (entry.is_file() and self._shows(inner)):
                        yield entry.name, is_folder
        except OSError:
            raise ResourceNotFound from None

    def _leads_inside(self, path: str) -> bool:
        try:
            self._find(path)
        except ResourceNotFound:
            return False
        return True

    def _list(self, real: str, path: str) -> dict[str, Any]:
        total = 0

        def counted() -> Iterator[tuple[str, bool]]:
            nonlocal total
            for entry in self._entries(real, path):
                total += 1
                yield entry

        chosen = heapq.nsmallest(MAX_ENTRIES, counted())
        entries = [self._describe(real, path, *entry) for entry in chosen]
        return {"entries": [entry for entry in entries if entry], "total": total}

    def _describe(self, real: str, path: str, name: str, is_folder: bool) -> dict[str, Any]:  # noqa: FBT001 - of a tuple
        inner = f"{path}/{name}" if path else name
        if is_folder:
            return {"uri": self._uri_of(inner) + "/", "name": name + "/"}
        try:
            status = os.stat(os.path.join(real, name))
        except OSError:
            return {}  # gone meanwhile
        described = {"uri": self._uri_of(inner), "name": name, "size": status.st_size}
        mime_type = mime_type_of(name)
        if mime_type is not None:
            described["mimeType"] = mime_type
        return described | {"lastModified": _moment(status.st_mtime)}

    def _files(self, path: str) -> Iterator[tuple[str, FileSource]]:
        real = self._find(path)
        for name, is_folder in sorted(self._entries(real, path)):
            inner = f"{path}/{name}" if path else name
            if not is_folder:
                source = FileSource(os.path.join(real, name), max_bytes=self._max_bytes)
                yield self._uri_of(inner), source
            elif not os.path.islink(os.path.join(real, name)):  # which may lead in a circle
                yield from self._files(inner)


def safe_join(base: AnyPath, *parts: str) -> Path:
    """Return a path below a directory, without links, for code that reads files itself.

    >>> safe_join("/usr", "../etc/passwd")
    Traceback (most recent call last):
    ...
    ValueError: '../etc/passwd' is not below the directory

    Args:
        base: The directory.
        parts: What was asked for, as the values of a URI are.

    Raises:
        ValueError: It would be elsewhere.
    """
    try:
        root = os.path.realpath(base)
        real = os.path.realpath(os.path.join(root, *parts))
        if os.path.commonpath([root, real]) == root:
            return Path(real)
    except ValueError:  # a name with NUL, another drive
        pass
    raise ValueError(f"{'/'.join(parts)!r} is not below the directory")


def mime_type_of(name: str) -> str | None:
    """Return the type of a file by its name; `None` if it says nothing."""
    suffix = os.path.splitext(name)[1].lower()
    return MIME_TYPES.get(suffix[1:]) or _python_knows(suffix)


@lru_cache(256)
def _python_knows(suffix: str) -> str | None:
    import mimetypes  # noqa: PLC0415 - it reads files of the system

    # But what the system says differs from one to another.
    kind, encoding = mimetypes.MimeTypes().guess_type("x" + suffix)
    return "application/gzip" if encoding == "gzip" else kind


def _text_or_bytes(data: bytes, mime_type: str | None) -> str | bytes:
    """Return data as text if that is what it is."""
    if mime_type is not None and not is_textual(mime_type):
        return data
    text = text_of(data)
    if text is None or (mime_type is None and "\0" in text):
        return data
    return text.removeprefix("\ufeff")


def _read(path: str, max_bytes: int) -> bytes:
    name = os.path.basename(path)
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ResourceNotFound
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(max_bytes + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in _NOT_THERE:
            raise ResourceNotFound from None
        raise ToolError(f"{name} cannot be read: {error.strerror}") from None
    if len(data) > max_bytes:
        raise ToolError(f"{name} is longer than the {max_bytes} bytes that are read")
    return data


def _is_utf_8(name: str) -> bool:
    """Tell whether a name can be sent; that of a file may be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _moment(seconds: float) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - only servers of files need it

    moment = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    return moment.replace("+00:00", "Z")

"""What resources hold, read by themselves or embedded in content.

Spec: server/resources#resource-contents
"""

from typing import Any

from msgspec import UNSET, StructMeta, UnsetType, field

from wigwag.schema.base import MetaObject, Schema


class ResourceContents(Schema, kw_only=True, frozen=True):
    """What a resource holds: `text`, or `blob` in base64.

    Nothing on the wire names the kind, so this is what contents are read as, whichever they are.
    To write them, `TextResourceContents` and `BlobResourceContents` say what must be there; of
    what was read, `isinstance` tells which of the two it is.
    Spec: server/resources#resource-contents
    """

    uri: str
    mime_type: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    blob: str | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)

    @property
    def content(self) -> str | bytes:
        """The text, or the bytes themselves.

        Raises:
            ValueError: They are not in base64, as they should be.
        """
        import base64  # noqa: PLC0415 - most contents are text

        if self.text is not UNSET:
            return self.text
        return b"" if self.blob is UNSET else base64.b64decode(self.blob, validate=True)


class _KindMeta(StructMeta):
    """Has contents be of a kind by what is in them."""

    def __instancecheck__(cls, value: Any) -> bool:  # noqa: N805
        member = "text" if cls is TextResourceContents else "blob"
        return isinstance(value, ResourceContents) and getattr(value, member) is not UNSET


class TextResourceContents(ResourceContents, metaclass=_KindMeta, kw_only=True, frozen=True):
    """What a resource holds, as text."""

    text: str  # pyright: ignore[reportGeneralTypeIssues]  # required here, members are keywords


class BlobResourceContents(ResourceContents, metaclass=_KindMeta, kw_only=True, frozen=True):
    """What a resource holds, as bytes in base64."""

    blob: str  # pyright: ignore[reportGeneralTypeIssues]  # as above

"""Roots: the folders that a client works in.

Spec: client/roots
"""

from msgspec import UNSET, UnsetType, field

from wigwag.schema.base import MetaObject, Schema


class Root(Schema, kw_only=True, frozen=True):
    """A folder or a file.

    Spec: client/roots#root
    """

    uri: str
    """A `file:` URI."""
    name: str | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class ListRootsResult(Schema, kw_only=True, frozen=True):
    """All roots of the client.

    Spec: client/roots#listing-roots
    """

    roots: list[Root]
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)

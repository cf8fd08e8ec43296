"""The handshake of the legacy revisions.

Spec: 2025-11-25 basic/lifecycle
"""

from msgspec import UNSET, UnsetType, field

from wigwag.schema.base import Implementation, MetaObject, Schema
from wigwag.schema.basic import RequestParams
from wigwag.schema.capabilities import ClientCapabilities, ServerCapabilities


class InitializeRequestParams(RequestParams, kw_only=True, frozen=True):
    """The client's half of the handshake.

    Spec: 2025-11-25 basic/lifecycle#initialization
    """

    protocol_version: str
    """The newest revision that the client speaks."""
    capabilities: ClientCapabilities
    client_info: Implementation


class InitializeResult(Schema, kw_only=True, frozen=True):
    """The server's half of the handshake.

    Spec: 2025-11-25 basic/lifecycle#initialization
    """

    protocol_version: str
    """The revision that is spoken from now on, if the client agrees."""
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | UnsetType = UNSET
    """For the model: how to use the server."""
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)

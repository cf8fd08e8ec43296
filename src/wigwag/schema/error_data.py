"""What the `data` of the errors of MCP holds.

Spec: basic#error-codes
"""

from wigwag.schema.base import Schema
from wigwag.schema.capabilities import ClientCapabilities
from wigwag.schema.elicitation import ElicitRequestURLParams


class MissingRequiredClientCapabilityData(Schema, kw_only=True, frozen=True):
    """The capabilities without which the request cannot be served."""

    required_capabilities: ClientCapabilities


class UnsupportedProtocolVersionData(Schema, kw_only=True, frozen=True):
    """The revision that was asked for, and those that could have been."""

    supported: list[str]
    requested: str


class URLElicitationRequiredData(Schema, kw_only=True, frozen=True):
    """The pages that the user must visit before the request can be served."""

    elicitations: list[ElicitRequestURLParams]

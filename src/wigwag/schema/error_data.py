"""The error codes that MCP adds to those of JSON-RPC, and what their `data` holds.

Spec: basic#error-codes
"""

from typing import Final

from wigwag.schema.base import Schema
from wigwag.schema.capabilities import ClientCapabilities
from wigwag.schema.elicitation import ElicitRequestURLParams

RESOURCE_NOT_FOUND: Final = -32002
"""Legacy only; modern servers answer "invalid params"."""
HEADER_MISMATCH: Final = -32020
MISSING_REQUIRED_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022
URL_ELICITATION_REQUIRED: Final = -32042
"""Only in 2025-11-25."""


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

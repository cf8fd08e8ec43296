"""The error codes that MCP adds to those of JSON-RPC.

Spec: basic#error-codes
"""

from typing import Final

RESOURCE_NOT_FOUND: Final = -32002
"""Legacy only; modern servers answer "invalid params"."""
HEADER_MISMATCH: Final = -32020
MISSING_REQUIRED_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022
URL_ELICITATION_REQUIRED: Final = -32042
"""Only in 2025-11-25."""

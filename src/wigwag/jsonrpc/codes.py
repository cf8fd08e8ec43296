"""The error codes that JSON-RPC 2.0 itself defines.

Spec: https://www.jsonrpc.org/specification#error_object
"""

from typing import Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

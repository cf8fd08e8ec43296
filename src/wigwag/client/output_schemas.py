"""What the tools that a client has listed say of their output, and whether it is so.

Spec: server/tools#output-schema
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

if TYPE_CHECKING:
    from wigwag.schema import Tool
    from wigwag.schema.base import JSONObject
    from wigwag.schema.json_schema import Check

_logger = logging.getLogger("wigwag.client")

# What a server marks a schema with that wraps a value in an object, for clients to unwrap it.
WRAP_MARK: Final = "x-fastmcp-wrap-result"


class OutputSchemas:
    """The output schemas of the tools of one server, as it has listed them last.

    Args:
        server: What the log calls the server.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._schemas: dict[str, JSONObject] = {}
        self._checks: dict[str, Check | None] = {}  # made when first needed
        self._doubtful: set[str] = set()

    def remember(self, tool: Tool) -> None:
        """Note the schema of a tool, or that it has none any more."""
        schema = tool.output_schema
        self._doubtful.discard(tool.name)
        if schema is UNSET:
            self._schemas.pop(tool.name, None)
            self._checks.pop(tool.name, None)
        elif self._schemas.get(tool.name) != schema:
            self._schemas[tool.name] = schema
            self._checks.pop(tool.name, None)

    def doubt(self) -> None:
        """Hold nothing to a schema any more that was listed so far: it may be another by now."""
        self._doubtful.update(self._schemas)

    def problem_of(self, tool: str, output: Any, *, may_lack: bool = False) -> str | None:
        """Say what is wrong with structured content; `None` if nothing is, or nobody can tell.

        Args:
            tool: The tool that returned it.
            output: The structured content; `UNSET` if there is none.
            may_lack: Whether there need not be any.
        """
        schema = self._schemas.get(tool)
        if schema is None or tool in self._doubtful:
            return None
        if tool not in self._checks:
            self._checks[tool] = self._make_check(tool, schema)
        check = self._checks[tool]
        if check is None:
            return None
        if output is UNSET:
            return None if may_lack else "there is no structured content"
        return check(output)

    def _make_check(self, tool: str, schema: JSONObject) -> Check | None:
        if find_spec("jsonschema_rs") is None:
            return None
        from wigwag.schema.json_schema import make_check  # noqa: PLC0415 - few tools need it

        try:
            return make_check(schema, formats=False)
        except ValueError as error:
            _logger.warning(
                "the output of the tool %r of %s is not checked: its output schema cannot be "
                "used: %s",
                tool,
                self._server,
                error,
            )
            return None

    def is_wrapping(self, tool: str) -> bool:
        """Tell whether the schema of a tool puts a value that is no object into one.

        Before 2026-07-28 structured content had to be an object, so that servers return
        `{"result": 4.5}` for 4.5.
        """
        schema = self._schemas.get(tool)
        if schema is None:
            return False
        if schema.get(WRAP_MARK) is True:
            return True
        members = schema.get("properties")
        return (
            schema.get("type") == "object"
            and isinstance(members, dict)
            and list(members) == ["result"]
            and schema.get("required") == ["result"]
        )

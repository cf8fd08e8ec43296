"""What a client knows of the tools that it has listed, and needs in order to call them.

Spec: server/tools, basic/transports/streamable-http#custom-headers-from-tool-parameters
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from wigwag.client.output_schemas import OutputSchemas
from wigwag.schema import ListToolsResult, Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wigwag.bindings.mirrored_parameters import MirroredParameter
    from wigwag.client.link import Link
    from wigwag.runtime.client_connection import ClientConnection

_logger = logging.getLogger("wigwag.client")


class KnownTools:
    """The tools of one server, as it has listed them last.

    Args:
        link: What connects to the server.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self.output_schemas = OutputSchemas(link.name)
        self._repeatable: set[str] = set()
        self._mirrored: dict[str, Sequence[MirroredParameter]] = {}
        self._invalid: dict[str, str] = {}  # and why

    def is_repeatable(self, name: str) -> bool:
        """Tell whether calling a tool twice does no more than calling it once."""
        return name in self._repeatable

    def doubt(self) -> None:
        """Rely on nothing any more that may be otherwise by now."""
        self.output_schemas.doubt()

    def use(self, live: ClientConnection) -> None:
        """Tell a new connection what is known already."""
        self.doubt()
        if live.exchanges is not None:
            for tool, parameters in self._mirrored.items():
                live.exchanges.mirror_parameters(tool, parameters)

    def noted(self, result: ListToolsResult) -> ListToolsResult:
        """Note what a client must know of tools; leave out those that cannot be called."""
        for tool in result.tools:
            self._remember(tool)
        if not self._link.is_mirroring:
            return result
        sound = [tool for tool in result.tools if self._mirror(tool)]
        return msgspec.structs.replace(result, tools=sound)

    def _remember(self, tool: Tool) -> None:
        self.output_schemas.remember(tool)
        hints = tool.annotations
        if hints is not UNSET and True in (hints.read_only_hint, hints.idempotent_hint):
            self._repeatable.add(tool.name)
        else:
            self._repeatable.discard(tool.name)

    def _mirror(self, tool: Tool) -> bool:
        """Note which arguments calls to a tool repeat in headers; tell whether it is sound."""
        from wigwag.bindings.mirrored_parameters import mirrored_parameters  # noqa: PLC0415

        try:
            parameters = mirrored_parameters(tool.input_schema)
        except ValueError as error:
            if self._invalid.get(tool.name) != str(error):
                self._invalid[tool.name] = str(error)
                _logger.warning("left out the tool %r of %s: %s", tool.name, self._link.name, error)
            return False
        self._mirrored[tool.name] = parameters
        live = self._link.live
        if live is not None and live.exchanges is not None:
            live.exchanges.mirror_parameters(tool.name, parameters)
        return True

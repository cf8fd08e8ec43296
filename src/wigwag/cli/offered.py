"""What a server offers: its tools, prompts, resources and resource templates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from wigwag import Client

__all__ = ["KINDS", "Offered", "name_of"]


class Offered:
    """What a server offers, asked for once between two commands.

    Args:
        client: The client of the server.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._lists: dict[str, Sequence[Any]] = {}

    def forget(self) -> None:
        """Ask anew when something is next wanted."""
        self._lists.clear()

    async def features(self, kind: str) -> Sequence[Any]:
        """Return the tools, prompts, resources or templates."""
        if kind not in self._lists:
            self._lists[kind] = await _LISTS[kind](self.client)
        return self._lists[kind]

    async def names(self, kind: str) -> list[str]:
        """Return what they go by."""
        return [name_of(each) for each in await self.features(kind)]

    async def named(self, kind: str, name: str) -> Any:
        """Return the one of a name, if there is one."""
        return next((each for each in await self.features(kind) if name_of(each) == name), None)


async def _tools(client: Client) -> Sequence[Any]:
    return (await client.list_tools()).tools


async def _prompts(client: Client) -> Sequence[Any]:
    return (await client.list_prompts()).prompts


async def _resources(client: Client) -> Sequence[Any]:
    return (await client.list_resources()).resources


async def _templates(client: Client) -> Sequence[Any]:
    return (await client.list_resource_templates()).resource_templates


_LISTS: Final[Mapping[str, Callable[[Client], Awaitable[Sequence[Any]]]]] = {
    "tools": _tools,
    "prompts": _prompts,
    "resources": _resources,
    "templates": _templates,
}


def name_of(feature: Any) -> str:
    """Return what a feature goes by: the URI or the template of a resource, or its name."""
    name: str = getattr(feature, "uri", None) or getattr(feature, "uri_template", feature.name)
    return name


KINDS: Final = tuple(_LISTS)
"""The kinds of features, as words of the command line."""

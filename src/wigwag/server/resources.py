"""Resources and their templates as a server keeps them, and how one is read.

Spec: server/resources
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import UNSET

from wigwag.errors import RequestFailed, ResourceNotFound
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.protocol.server import CacheHint
from wigwag.schema import ReadResourceResult, Resource, ResourceTemplate
from wigwag.server.asking.input_required import InputRequired, asked_by
from wigwag.server.features import FREE, Availability, Feature, MakeContext
from wigwag.server.functions import Function
from wigwag.server.parameters.signature import ArgumentsRefused, Parameters
from wigwag.server.results.contents import to_contents
from wigwag.server.suggestions import suggestions_for

if TYPE_CHECKING:
    from wigwag.server.features import Owner
    from wigwag.server.uris.resource_uris import ResourceSecurity, ResourceUris


class ResourceFeature(Feature[Resource | ResourceTemplate]):
    """A resource of a server, or a template for many."""

    def __init__(
        self,
        definition: Resource | ResourceTemplate,
        function: Function[Parameters],
        mime_type: str | None,
        owner: Owner,
        availability: Availability = FREE,
        cache: CacheHint | None = None,
        security: ResourceSecurity | None = None,
    ) -> None:
        super().__init__(definition, owner, availability)
        self._cache = cache
        self._function = function
        self._mime_type = mime_type
        parameters = function.parameters
        self.template: ResourceUris | None = None
        if isinstance(definition, ResourceTemplate):
            from wigwag.server.uris.resource_uris import ResourceUris  # noqa: PLC0415 - not all have any

            self.template = ResourceUris(
                definition.uri_template, parameters.types, parameters.defaults, security
            )
            self.suggestions = suggestions_for(parameters.hints, self.template.names)
        elif parameters.types:
            names = ", ".join(parameters.types)
            raise TypeError(f"{definition.uri} has no variables, but its function takes {names}")

    async def read(
        self, uri: str, values: dict[str, Any], make_context: MakeContext
    ) -> ReadResourceResult | InputRequired:
        """Read the resource, once.

        Returns:
            What it reads, or what its function has to ask the client first.

        Raises:
            RequestFailed: The values in the URI are not what the function takes, or it has found
                nothing there.
        """
        function = self._function
        try:
            arguments = function.parameters.convert(values)
        except ArgumentsRefused as error:
            raise RequestFailed(INVALID_PARAMS, f"Invalid URI {uri}: {error}") from None
        context = make_context() if function.wants_context else None
        try:
            value = await function.run(arguments, context)
        except ResourceNotFound as error:
            raise error.at(uri) from None
        asked = asked_by(value)
        if asked is not None:
            return asked
        result = to_contents(value, uri, self._mime_type)
        if self._cache is None or result.ttl_ms is not UNSET:
            return result
        hint = self._cache
        scope = "private" if self.is_restricted else hint.scope
        return msgspec.structs.replace(result, ttl_ms=hint.ttl_ms, cache_scope=scope)

    def renamed(self, name: str) -> Self:
        """Return the resource as it is: contents and links may name its URI."""
        return self

"""Prompts as a server keeps them, and how one is made. Spec: server/prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from msgspec import UNSET

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codec import encode_value
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.schema import GetPromptResult, Prompt, PromptArgument
from wigwag.server.asking.input_required import InputRequired, asked_by
from wigwag.server.features import FREE, Availability, Feature, MakeContext
from wigwag.server.functions import Function
from wigwag.server.parameters.signature import ArgumentsRefused, Parameters
from wigwag.server.results.prompt_messages import to_prompt
from wigwag.server.suggestions import suggestions_for

if TYPE_CHECKING:
    from wigwag.server.features import Owner


_NO_PART_OF_A_FORM = ("title", "description", "default")


class PromptFeature(Feature[Prompt]):
    """A prompt of a server."""

    def __init__(
        self,
        definition: Prompt,
        function: Function[Parameters],
        owner: Owner,
        availability: Availability = FREE,
    ) -> None:
        super().__init__(definition, owner, availability)
        self._function = function
        parameters = function.parameters
        self.suggestions = suggestions_for(parameters.hints, parameters.types)

    async def get(
        self, values: dict[str, str], make_context: MakeContext
    ) -> GetPromptResult | InputRequired:
        """Make the prompt's messages, once.

        Returns:
            The messages, or what the function has to ask the client first.

        Raises:
            RequestFailed: An argument is missing, unknown or of the wrong type.
        """
        function = self._function
        try:
            arguments = function.parameters.convert(values)
        except ArgumentsRefused as error:
            name = self.definition.name
            message = f"Invalid arguments for prompt {name}: {error}"
            raise RequestFailed(INVALID_PARAMS, message) from None
        context = make_context() if function.wants_context else None
        value = await function.run(arguments, context)
        asked = asked_by(value)
        if asked is not None:
            return asked
        description = self.definition.description
        return to_prompt(value, "" if description is UNSET else description)


def prompt_arguments(parameters: Parameters) -> list[PromptArgument]:
    """Describe the parameters of a prompt function as the arguments of a prompt."""
    return [
        PromptArgument(
            name=name,
            title=_title_of(parameters.hints.get(name)) or UNSET,
            description=_describe_argument(parameters, name) or UNSET,
            required=name not in parameters.defaults,
        )
        for name in parameters.types
    ]


def _describe_argument(parameters: Parameters, name: str) -> str:
    """Describe what is always text: nothing else says of which form that is to be."""
    schema = parameters.schema["properties"][name]
    text = str(schema.get("description", ""))
    kinds = {part.get("type") for part in (schema, *schema.get("anyOf", ()))}
    if kinds.isdisjoint(("array", "object")) or "string" in kinds:
        return text
    bare = {key: value for key, value in schema.items() if key not in _NO_PART_OF_A_FORM}
    encoded = encode_value(bare)
    form = "In JSON." if b"$ref" in encoded else f"In JSON: {encoded.decode()}"
    return f"{text} {form}" if text else form


def _title_of(annotation: Any) -> str:
    """Return the title that `Meta` or `Field` gives to a parameter; schemas leave titles out."""
    if get_origin(annotation) is not Annotated:
        return ""
    titles = (getattr(item, "title", None) for item in get_args(annotation)[1:])
    return next((title for title in titles if isinstance(title, str)), "")

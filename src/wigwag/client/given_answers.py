"""Answers to forms that were given beforehand, for when there is nobody to ask.

Spec: client/elicitation
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from wigwag.client.forms import FormField, fields_of
from wigwag.client.merged_names import did_you_mean
from wigwag.errors import LocalProtocolError
from wigwag.schema import ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult
from wigwag.schema.elicitation import ElicitValue

__all__ = ["GivenAnswers"]


class GivenAnswers:
    """Fills in forms with answers that were given beforehand; to be a client's `elicitation`.

    A field that no answer is for is left to what the form has for it, or left out. Where one must
    be filled in and is not, somebody else is asked, or it fails.

    Args:
        answers: For each field what a person would type, by its name: a mapping, or words such as
            `name=value`.
        otherwise: Asks somebody else, also for pages. Without it pages are declined.

    Raises:
        ValueError: A word is no `name=value`.
    """

    def __init__(
        self,
        answers: Mapping[str, str] | Sequence[str],
        *,
        otherwise: Callable[[Any], Awaitable[ElicitResult]] | None = None,
    ) -> None:
        self._answers = dict(answers) if isinstance(answers, Mapping) else _pairs(answers)
        self._otherwise = otherwise
        self.takes_pages = otherwise is not None

    async def __call__(
        self, params: ElicitRequestFormParams | ElicitRequestURLParams
    ) -> ElicitResult:
        """Answer.

        Raises:
            LocalProtocolError: A given answer does not fit, or one that is needed was not given.
        """
        if isinstance(params, ElicitRequestURLParams):
            return await self._ask_or(params, ElicitResult(action="decline"))
        try:
            fields = fields_of(params.requested_schema)
        except ValueError as error:
            raise LocalProtocolError(f"the server asks for what cannot be asked: {error}") from None
        missing = [field.name for field in fields if self._is_missing(field)]
        if not missing:
            content = {field.name: self._read(field) for field in fields if self._has(field)}
            return ElicitResult(action="accept", content=content)
        unused = [name for name in self._answers if name not in {field.name for field in fields}]
        near = "".join(did_you_mean(name, missing) for name in unused[:1])
        return await self._ask_or(
            params,
            LocalProtocolError(
                f"the server asks {params.message!r}, and no answer was given for "
                f"{', '.join(missing)}{near}"
            ),
        )

    async def _ask_or(self, params: Any, otherwise: ElicitResult | Exception) -> ElicitResult:
        if self._otherwise is not None:
            return await self._otherwise(params)
        if isinstance(otherwise, Exception):
            raise otherwise
        return otherwise

    def _has(self, field: FormField) -> bool:
        return field.name in self._answers

    def _is_missing(self, field: FormField) -> bool:
        return field.is_required and not self._has(field) and field.default is UNSET

    def _read(self, field: FormField) -> ElicitValue:
        try:
            return field.read(_as_typed(field, self._answers[field.name]))
        except ValueError as error:
            raise LocalProtocolError(f"the answer for {field.name} does not fit: {error}") from None


def _as_typed(field: FormField, answer: str) -> str:
    """Return an answer as a person would type it: choices by their numbers.

    Of choices that are numbers themselves, who answers beforehand means the choice.
    """
    numbers: dict[str, str] = {}
    for number, option in enumerate(field.options, 1):
        numbers.setdefault(option.label, str(number))
    numbers |= {option.value: str(number) for number, option in enumerate(field.options, 1)}
    if field.kind == "several":
        return ", ".join(numbers.get(each.strip(), each) for each in answer.split(","))
    return numbers.get(answer, answer)


def _pairs(words: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ValueError(f"an answer is name=value, not {word!r}")
        found[name] = value
    return found

"""What a client returns for the call of a tool: the result, and what is in it as Python has it.

Spec: server/tools#tool-result
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, get_args

import msgspec
from msgspec import UNSET, Raw

from wigwag.schema import CallToolResult

T = TypeVar("T")
D = TypeVar("D", covariant=True)


class ToolCallResult(
    CallToolResult, Generic[D], kw_only=True, frozen=True, gc=True, dict=True, eq=False
):
    """What a tool has returned to a client, or how it failed.

    It is a `CallToolResult` in every respect, and is written as one; `data` and `raw` are beside
    it, and get lost in a copy.
    """

    @classmethod
    def of(cls, result: CallToolResult, data: Any, raw: Raw) -> ToolCallResult[Any]:
        """Return a result with what it was made from, and what was made of it."""
        made: ToolCallResult[Any] = cls(
            content=result.content,
            structured_content=result.structured_content,
            is_error=result.is_error,
            meta=result.meta,
            result_type=result.result_type,
        )
        vars(made).update(data=data, raw=raw)
        return made

    @property
    def data(self) -> D:
        """The structured content: as the `result_type` that was asked for, or plain values.

        What an output schema puts into an object with one member `result` is taken out of it.
        `None` if the tool failed, or there is no structured content.
        """
        kept = vars(self)
        if "data" not in kept and self.structured_content is not UNSET:
            kept["data"] = self.structured_content  # a copy
        data: D = kept.get("data")  # type: ignore[assignment]  # what `of` was given
        return data

    @property
    def raw(self) -> dict[str, Any]:
        """The result as plain JSON values, with everything the server sent."""
        raw = vars(self).get("raw")
        raw = msgspec.json.encode(self) if raw is None else raw
        members: dict[str, Any] = msgspec.json.decode(raw)
        return members

    def __eq__(self, other: object) -> bool:
        """Whether it is the same result, also to one that a client did not return."""
        if not isinstance(other, CallToolResult):
            return NotImplemented
        return msgspec.structs.astuple(self) == msgspec.structs.astuple(other)

    __hash__ = None  # type: ignore[assignment]  # it holds lists


def data_of(
    result: CallToolResult, result_type: type[Any] | None = None, *, is_wrapped: bool = False
) -> Any:
    """Return what a tool has returned as Python has it.

    Args:
        result: The result, which is no failure.
        result_type: The type that is wanted; plain values by default.
        is_wrapped: Whether the output schema puts the value into an object.

    Raises:
        ValueError: It does not fit the type; the text says where and why.
    """
    value = result.structured_content
    if result_type is None:
        if is_wrapped and isinstance(value, dict) and "result" in value:
            return value["result"]
        return None if value is UNSET else value
    if value is UNSET:
        return _read_text(result.text, result_type)
    candidates = [value]
    if isinstance(value, dict) and "result" in value and (is_wrapped or len(value) == 1):
        # A type of yours may have the one member `result`, too.
        candidates.insert(0 if is_wrapped else 1, value["result"])
    try:
        return read_as(candidates[0], result_type)
    except ValueError:
        if len(candidates) == 1:
            raise
        try:
            return read_as(candidates[1], result_type)
        except ValueError:
            pass
        raise  # what is wrong with the likelier one


def _read_text(text: str, type_: type[Any]) -> Any:
    """Read what a server that has no structured content has written as text."""
    if type_ is str:
        return text
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("there is no structured content, and the text is no JSON") from None
    return read_as(value, type_)


def read_as(value: Any, type_: type[T]) -> T:
    """Turn plain JSON values into a type of msgspec, of pydantic, or of the standard library.

    >>> from datetime import date
    >>> read_as(["2026-07-28"], list[date])
    [datetime.date(2026, 7, 28)]

    Raises:
        ValueError: They do not fit; the text says where and why.
    """
    if _is_of_pydantic(type_):
        return _read_with_pydantic(value, type_)
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _is_of_pydantic(type_: Any) -> bool:
    return hasattr(type_, "__pydantic_core_schema__") or any(map(_is_of_pydantic, get_args(type_)))


def _read_with_pydantic(value: Any, type_: type[T]) -> T:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - the type is pydantic's

    try:
        # As JSON, or else pydantic would not take a string for a date.
        return TypeAdapter(type_).validate_json(msgspec.json.encode(value))
    except ValidationError as error:
        problems = (
            f"{problem['msg']} - at `{'.'.join(map(str, ('$', *problem['loc'])))}`"
            for problem in error.errors(include_url=False, include_input=False)
        )
        raise ValueError("; ".join(problems)) from None

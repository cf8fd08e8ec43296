"""The types that a handler asks for, and what it gets: the same in each era."""

import dataclasses
import datetime
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

from tests.interaction.connecting import TIMEOUTS, error_of, text_of
from wigwag import (
    AcceptedElicitation,
    CancelledElicitation,
    Client,
    Context,
    DeclinedElicitation,
    Server,
)
from wigwag.schema import LATEST_MODERN, REVISIONS, V2025_06_18, ElicitResult

pytestmark = pytest.mark.anyio

WITH_FORMS = [revision for revision in REVISIONS if revision >= V2025_06_18]
forms = pytest.mark.parametrize("revision", WITH_FORMS)


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class AsDataclass:
    name: str
    size: Size
    day: datetime.date
    extras: set[Literal["foam", "ice"]] = dataclasses.field(default_factory=set)
    cups: int = 1
    note: str | None = None


class AsStruct(msgspec.Struct):
    name: str
    size: Size
    day: datetime.date
    extras: set[Literal["foam", "ice"]] = msgspec.field(default_factory=set)
    cups: int = 1
    note: str | None = None


class AsModel(pydantic.BaseModel):
    name: str
    size: Size
    day: datetime.date
    extras: set[Literal["foam", "ice"]] = pydantic.Field(default_factory=set)
    cups: int = pydantic.Field(1, ge=1, le=9, description="How many?")
    note: str | None = None


class AsDict(TypedDict):
    name: str
    size: Size
    day: datetime.date
    extras: NotRequired[set[Literal["foam", "ice"]]]
    cups: NotRequired[int]
    note: NotRequired[str | None]


CLASSES = [AsDataclass, AsStruct, AsModel, AsDict]
classes = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
LEAST: dict[str, Any] = {"name": "Ada", "size": "l", "day": "2026-01-02"}


async def ask_for(kind: Any, revision: str, *answers: Any) -> Any:
    """Let a handler ask for a type, answer one thing after the other, and return what it got."""
    server = Server("types")
    left, found = list(answers), []

    @server.tool
    async def order(ctx: Context) -> str:
        found.append(await ctx.elicit(message="Your order?", schema=kind))
        return "ordered"

    def fill_in(_: Any) -> Any:
        return left.pop(0)

    options: Any = {"mode": revision, "timeouts": TIMEOUTS, "elicitation": fill_in}
    async with Client(server, **options) as client:
        assert await text_of(client, "order") == "ordered"
    assert left == []
    return found[-1]


def values_of(data: Any) -> dict[str, Any]:
    if isinstance(data, dict):
        return data
    return {name: getattr(data, name) for name in ("name", "size", "day", "extras", "cups", "note")}


@forms
@classes
async def test_the_answer_is_of_the_type_that_was_asked_for(revision: str, kind: Any) -> None:
    full = {**LEAST, "extras": ["ice", "foam"], "cups": 2, "note": "hot"}
    answer = await ask_for(kind, revision, full)
    assert isinstance(answer, AcceptedElicitation)
    assert answer.action == "accept"
    assert isinstance(answer.data, dict if kind is AsDict else kind)
    assert values_of(answer.data) == {
        "name": "Ada",
        "size": Size.LARGE,
        "day": datetime.date(2026, 1, 2),
        "extras": {"foam", "ice"},
        "cups": 2,
        "note": "hot",
    }


@forms
@classes
@pytest.mark.parametrize(
    "empty",
    [{}, pytest.param({"note": None}, marks=pytest.mark.broken_messages("client"))],
    ids=str,
)
async def test_what_the_user_left_out_is_what_the_type_says(
    revision: str, kind: Any, empty: dict[str, Any]
) -> None:
    answer = await ask_for(kind, revision, ElicitResult(action="accept", content=LEAST | empty))
    expected = {"name": "Ada", "size": Size.LARGE, "day": datetime.date(2026, 1, 2)}
    if kind is not AsDict:
        expected |= {"extras": set(), "cups": 1, "note": None}
    assert values_of(answer.data) == expected


@forms
@classes
async def test_what_does_not_fit_is_asked_once_more(revision: str, kind: Any) -> None:
    answer = await ask_for(kind, revision, {**LEAST, "size": "xl"}, {**LEAST, "cups": 3})
    assert values_of(answer.data)["cups"] == 3


@forms
@classes
async def test_what_the_user_did_can_be_matched(revision: str, kind: Any) -> None:
    said: list[str] = []
    for did in (LEAST, ElicitResult(action="decline"), ElicitResult(action="cancel")):
        match await ask_for(kind, revision, did):
            case AcceptedElicitation(data={"name": name}):
                said.append(name)
            case AcceptedElicitation(data=data):
                said.append(data.name)
            case DeclinedElicitation():
                said.append("declined")
            case CancelledElicitation():
                said.append("cancelled")
    assert said == ["Ada", "declined", "cancelled"]


class Address(msgspec.Struct):
    street: str


@dataclass
class Nested:
    address: Address


class NestedModel(pydantic.BaseModel):
    address: AsModel


class Listed(TypedDict):
    address: list[str]


class Odd(msgspec.Struct):
    address: Annotated[dict[str, int], msgspec.Meta(title="Odd")]


@forms
@pytest.mark.parametrize(
    "kind", [Nested, NestedModel, Listed, Odd, {"address": bytes}, {"address": int | str}], ids=str
)
@pytest.mark.parametrize("tool", ["ask", "ask_plainly"])
async def test_what_no_form_has_is_named_before_anybody_is_asked(
    revision: str, kind: Any, tool: str, log_text: Callable[[], str]
) -> None:
    server = Server("types")

    @server.tool("ask")
    async def ask(ctx: Context) -> str:
        return str(await ctx.elicit("?", kind))

    @server.tool
    def ask_plainly(ctx: Context) -> str:
        return str(ctx.elicit("?", kind))

    def fill_in(_: Any) -> Any:
        raise AssertionError("nobody is to be asked")

    options: Any = {"mode": revision, "timeouts": TIMEOUTS, "elicitation": fill_in}
    async with Client(server, **options) as client:
        assert "internal error" in await error_of(client, tool)
    assert "TypeError: field `address` cannot be in a form: forms are flat" in log_text()


@pytest.mark.broken_messages("client")
async def test_null_for_a_field_that_must_be_filled_in_is_asked_again() -> None:
    empty: Any = {**LEAST, "name": None}
    first = ElicitResult(action="accept", content=empty)
    answer = await ask_for(AsDataclass, LATEST_MODERN, first, LEAST)
    assert answer.data.name == "Ada"

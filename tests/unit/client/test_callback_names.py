"""A client's callbacks, by the names of the official SDK."""

from typing import Any

import pytest
from msgspec import UNSET

from wigwag.client.callback_names import by_own_names
from wigwag.schema import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestURLParams,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    TextContent,
)

pytestmark = pytest.mark.anyio

CLIENT = object()
ASKED = CreateMessageRequestParams(messages=[], max_tokens=5)
SAID = CreateMessageResult(role="assistant", content=TextContent(text="hi"), model="m")
PAGE = ElicitRequestURLParams(mode="url", message="Log in.", url="https://example.com")


class Address:
    """What another library makes of a URI."""

    def __str__(self) -> str:
        return "file:///orchard"


async def test_each_gets_the_client_and_what_it_is_asked() -> None:
    seen: list[Any] = []

    async def sample(context: Any, params: Any) -> CreateMessageResult:
        seen.append((context, params))
        return SAID

    def elicit(context: Any, params: Any) -> ElicitResult:
        seen.append((context, params))
        return ElicitResult(action="decline")

    own = by_own_names({"sampling_callback": sample, "elicitation_callback": elicit}, CLIENT)
    assert own.sampling is not None
    assert await own.sampling(ASKED) == SAID  # type: ignore[misc]
    assert own.elicitation is not None
    assert await own.elicitation(PAGE) == ElicitResult(action="decline")  # type: ignore
    assert seen == [(CLIENT, ASKED), (CLIENT, PAGE)]


async def test_roots_may_have_addresses_of_another_library() -> None:
    async def list_roots(context: Any) -> ListRootsResult:
        assert context is CLIENT
        return ListRootsResult(roots=[Root(uri=Address(), name="orchard")])  # type: ignore[arg-type]

    own = by_own_names({"list_roots_callback": list_roots}, CLIENT)
    assert own.roots is not None
    assert await own.roots() == [Root(uri="file:///orchard", name="orchard")]


def test_a_client_with_an_elicitation_callback_takes_forms_and_pages() -> None:
    own = by_own_names({"elicitation_callback": lambda *_: None}, CLIENT)
    assert own.capabilities is not None
    assert own.capabilities.elicitation is not UNSET
    assert own.capabilities.elicitation.url == {}
    assert own.capabilities.elicitation.form == {}


def test_what_is_not_given_is_not_there() -> None:
    def log(params: LoggingMessageNotificationParams) -> None: ...

    own = by_own_names({"logging_callback": log}, CLIENT)
    assert own.on_log is log
    assert (own.sampling, own.elicitation, own.roots, own.capabilities) == (None,) * 4


def test_a_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(TypeError, match="Client takes no 'sampling_calback'"):
        by_own_names({"sampling_calback": print}, CLIENT)  # type: ignore[typeddict-unknown-key]

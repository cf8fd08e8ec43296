import logging
from typing import Any, cast

import msgspec
import pytest
from msgspec import UNSET

from wigwag.schema import V2026_07_28, ListToolsResult, Tool
from wigwag.server.access import Caller
from wigwag.server.catalogue import OnDuplicate, Shelf
from wigwag.server.features import Availability, Feature
from wigwag.server.lists import FeatureList
from wigwag.server.principal import Principal

OWNER: Any = object()
ANN = Principal("ann")


def feature(name: str, **availability: Any) -> Feature[Tool]:
    definition = Tool(name=name, input_schema={"type": "object"})
    return Feature(definition, OWNER, Availability(**availability))


def shelf(
    on_duplicate: OnDuplicate = "error", page_size: int | None = None
) -> Shelf[Feature[Tool]]:
    pages = FeatureList(
        lambda items, following: ListToolsResult(tools=items, next_cursor=following), page_size
    )
    return Shelf("tool", pages, on_duplicate)


def filled(*names: str) -> Shelf[Feature[Tool]]:
    tools = shelf()
    for name in names:
        tools.add(name, feature(name))
    tools.changed()
    return tools


def listed(tools: Shelf[Feature[Tool]], who: Principal | None = None) -> list[str]:
    caller = Caller(who, is_remote=True)
    members = tools.page(UNSET, V2026_07_28, lambda: caller)
    page = msgspec.json.decode(b"{%b}" % b"".join(members), type=ListToolsResult)
    return [tool.name for tool in page.tools]


def test_features_are_listed_in_the_order_in_which_they_came() -> None:
    tools = filled("b", "a")
    assert list(tools.active) == listed(tools) == ["b", "a"]
    assert tools
    assert "a" in tools
    assert "c" not in tools
    tools.remove("b")
    tools.changed()
    assert listed(tools) == ["a"]
    with pytest.raises(KeyError):
        tools.remove("b")


def test_an_empty_shelf_has_nothing_to_offer() -> None:
    assert not shelf()


@pytest.mark.parametrize(
    ("on_duplicate", "is_added", "logged"),
    [
        ("warn", True, "the tool 'a' takes the place of another one"),
        ("replace", True, ""),
        ("ignore", False, ""),
    ],
)
def test_what_happens_to_a_name_that_is_taken_can_be_chosen(
    on_duplicate: OnDuplicate,
    is_added: bool,  # noqa: FBT001 - a parameter of the test
    logged: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tools = shelf(on_duplicate)
    first, second = feature("a"), feature("a")
    assert tools.add("a", first)
    with caplog.at_level(logging.DEBUG):
        assert tools.add("a", second) is is_added
    tools.changed()
    assert tools.active["a"] is (second if is_added else first)
    assert logged in caplog.text
    assert bool(caplog.text) is bool(logged)


def test_a_name_that_is_taken_is_an_error_by_default() -> None:
    tools = filled("a")
    with pytest.raises(ValueError, match="there is a tool 'a' already"):
        tools.add("a", feature("a"))


def test_features_are_switched_by_name_and_by_tag() -> None:
    tools = shelf()
    for name, tags in (("a", {"x"}), ("b", {"x", "y"}), ("c", set[str]())):
        tools.add(name, feature(name, tags=frozenset(tags)))
    assert tools.switch(frozenset("c"), frozenset("y"), enabled=False) == {"b", "c"}
    tools.changed()
    assert list(tools.active) == ["a"]
    assert tools.switch(frozenset("z"), frozenset("z"), enabled=True) == set()
    assert tools.switch(frozenset(), frozenset("x"), enabled=True) == {"a", "b"}
    tools.changed()
    assert list(tools.active) == ["a", "b"]


def test_only_those_who_see_a_feature_have_it_listed() -> None:
    tools = filled("a")
    assert not tools.is_filtered
    tools.add("b", feature("b", visible=lambda who: who is not None and who.subject == "ann"))
    tools.changed()
    assert tools.is_filtered
    assert listed(tools, ANN) == ["a", "b"]
    assert listed(tools) == ["a"]
    assert listed(tools, Principal("bob")) == ["a"]
    assert list(tools.seen_by(Caller(ANN, is_remote=False))) == ["a", "b"]


def test_features_of_another_shelf_are_found_by_a_prefix() -> None:
    inner, outer = filled("a", "b"), filled("a")
    outer.mount("in", inner)
    outer.changed()
    assert list(outer.active) == ["a", "in_a", "in_b"]
    assert outer.active["in_a"].definition.name == "in_a"
    assert outer.active["in_a"].own_name == "a"
    assert inner.active["a"].definition.name == "a"
    assert list(cast("Any", dict(iter(outer)))) == ["a"]


def test_what_comes_in_later_under_a_name_that_is_taken_is_hidden_and_that_is_noted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inner, outer = filled("b"), filled("a")
    outer.mount("", inner)
    inner.add("a", feature("a"))
    inner.changed()
    outer.changed()
    assert list(outer.active) == ["a", "b"]
    assert outer.active["a"] is not inner.active["a"]
    assert "the tool 'a' of a mounted server is hidden" in caplog.text

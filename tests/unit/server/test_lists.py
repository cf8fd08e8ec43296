"""Lists in pages."""

import base64
import json
from typing import Any

import pytest
from msgspec import UNSET

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.schema import ListPromptsResult, Prompt
from wigwag.server.lists import FeatureList

NEWEST = "2026-07-28"
OLDEST = "2024-11-05"


class Feature:
    def __init__(self, name: str) -> None:
        self.definition = Prompt(name=name, title="T")


class Listed:
    """A list, and how often a page was made."""

    def __init__(self, *names: str, page_size: int | None = None) -> None:
        self.features = {name: Feature(name) for name in names}
        self.made = 0
        self.list = FeatureList(self._make, page_size)

    def _make(self, items: list[Any], following: Any) -> ListPromptsResult:
        self.made += 1
        return ListPromptsResult(prompts=items, next_cursor=following)

    def page(self, cursor: Any = UNSET, revision: str = NEWEST) -> tuple[list[str], Any]:
        members = self.list.page(self.features, cursor, revision)
        page = json.loads(b"{%b}" % b"".join(members))
        return [prompt["name"] for prompt in page["prompts"]], page.get("nextCursor", UNSET)

    def pages(self) -> list[list[str]]:
        found: list[list[str]] = []
        cursor: Any = UNSET
        while True:
            names, cursor = self.page(cursor)
            found.append(names)
            if cursor is UNSET:
                return found


def test_without_a_page_size_everything_is_on_one_page() -> None:
    assert Listed("b", "a", "c").pages() == [["b", "a", "c"]]
    assert Listed().pages() == [[]]


@pytest.mark.parametrize(
    ("size", "pages"),
    [
        (1, [["a"], ["b"], ["c"], ["d"]]),
        (2, [["a", "b"], ["c", "d"]]),
        (3, [["a", "b", "c"], ["d"]]),
        (4, [["a", "b", "c", "d"]]),
        (9, [["a", "b", "c", "d"]]),
    ],
)
def test_pages_hold_so_many_and_only_the_last_has_no_cursor(
    size: int, pages: list[list[str]]
) -> None:
    assert Listed("a", "b", "c", "d", page_size=size).pages() == pages


@pytest.mark.parametrize("size", [0, -1])
def test_a_page_holds_something(size: int) -> None:
    with pytest.raises(ValueError, match="a page holds at least one item"):
        Listed(page_size=size)


@pytest.mark.parametrize(
    "cursor",
    ["", "zzz", "a", "!", "é", "\ud800", "====", base64.urlsafe_b64encode(b"zzz").decode(),
     base64.urlsafe_b64encode(b"\xff\xfe").decode()],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, None])
def test_a_cursor_that_was_not_given_out_is_invalid_params(cursor: str, size: int | None) -> None:
    listed = Listed("a", "b", page_size=size)
    for _ in range(2):
        with pytest.raises(RequestFailed, match="begin again without one") as caught:
            listed.page(cursor)
        assert caught.value.code == INVALID_PARAMS


def test_names_of_any_kind_have_cursors() -> None:
    names = ["é", "a://{x}?/+", "中 🎉", "", "~~~???"]
    assert Listed(*names, page_size=1).pages() == [[name] for name in names]


def test_a_page_goes_on_behind_its_cursor_when_other_items_went_or_came() -> None:
    listed = Listed("a", "b", "c", "d", page_size=2)
    _, cursor = listed.page()
    del listed.features["a"]
    listed.features["e"] = Feature("e")
    listed.list.changed()
    names, cursor = listed.page(cursor)
    assert names == ["c", "d"]
    assert listed.page(cursor) == (["e"], UNSET)


def test_a_cursor_whose_item_has_gone_is_refused_rather_than_skipping_anything() -> None:
    listed = Listed("a", "b", "c", "d", page_size=2)
    _, cursor = listed.page()
    del listed.features["b"]
    listed.list.changed()
    with pytest.raises(RequestFailed, match="is no cursor of this list"):
        listed.page(cursor)
    assert listed.page()[0] == ["a", "c"]


def test_pages_are_kept_until_something_changes() -> None:
    listed = Listed("a", "b", page_size=1)
    for _ in range(3):
        assert listed.pages() == [["a"], ["b"]]
    assert listed.made == 2
    listed.features["c"] = Feature("c")
    listed.list.changed()
    assert listed.pages() == [["a"], ["b"], ["c"]]
    assert listed.made == 5


def test_each_revision_gets_what_it_knows() -> None:
    listed = Listed("a")
    newest = listed.list.page(listed.features, UNSET, NEWEST)
    oldest = listed.list.page(listed.features, UNSET, OLDEST)
    assert json.loads(b"{%b}" % b"".join(newest))["prompts"] == [{"name": "a", "title": "T"}]
    assert json.loads(b"{%b}" % b"".join(oldest))["prompts"] == [{"name": "a"}]


def test_bad_cursors_take_no_memory() -> None:
    listed = Listed("a", "b", page_size=1)
    for number in range(100):
        with pytest.raises(RequestFailed):
            listed.page(f"bogus{number}")
    assert listed.made == 0


def test_what_some_see_is_made_once_for_all_who_see_the_same() -> None:
    listed = Listed("a", "b")
    some = {"a": listed.features["a"]}
    first = listed.list.page_for_some(some, UNSET, NEWEST)
    assert listed.list.page_for_some(dict(some), UNSET, NEWEST) is first
    assert listed.list.page_for_some(listed.features, UNSET, NEWEST) is not first
    assert listed.made == 2
    for number in range(100):
        listed.list.page_for_some({str(number): listed.features["a"]}, UNSET, NEWEST)
    assert len(listed.list._pages_for_some) <= 64
    listed.list.changed()
    assert not listed.list._pages_for_some

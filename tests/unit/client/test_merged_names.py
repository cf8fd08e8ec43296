"""The names of several servers together."""

import pytest

from wigwag.client.merged_names import did_you_mean, may_be_of_template, merged_names, qualified


def test_a_name_that_one_server_alone_has_stays_as_it_is() -> None:
    assert merged_names({"a": ["x"], "b": ["y"]}) == {"x": ("a", "x"), "y": ("b", "y")}


def test_a_name_that_several_servers_have_is_told_apart_for_each_of_them() -> None:
    assert merged_names({"a": ["x", "y"], "b": ["x"], "c": ["x"]}) == {
        "a_x": ("a", "x"),
        "y": ("a", "y"),
        "b_x": ("b", "x"),
        "c_x": ("c", "x"),
    }


def test_the_names_are_in_the_order_of_the_servers() -> None:
    assert list(merged_names({"b": ["x", "w"], "a": ["x"]})) == ["b_x", "w", "a_x"]


def test_a_name_that_a_server_lists_twice_is_one() -> None:
    assert merged_names({"a": ["x", "x"]}) == {"x": ("a", "x")}


def test_no_name_looks_as_if_it_were_of_another_server() -> None:
    servers = {"bank": ["pay"], "rogue": ["bank_pay", "rogue_joke", "joke"]}
    assert merged_names(servers) == {
        "pay": ("bank", "pay"),
        "rogue_bank_pay": ("rogue", "bank_pay"),
        "rogue_joke": ("rogue", "rogue_joke"),
        "joke": ("rogue", "joke"),
    }


@pytest.mark.parametrize(
    ("servers", "names"),
    [
        ({"a": ["x", "a_x"], "b": ["x"]}, ["a_x_2", "a_x", "b_x"]),
        ({"a": ["a_x", "x"], "b": ["x"]}, ["a_x", "a_x_2", "b_x"]),
        ({"a": ["b_x"], "a_b": ["x"], "c": ["b_x", "x"]},
         ["a_b_x", "a_b_x_2", "c_b_x", "c_x"]),
        ({"a": ["b_x"], "a_b": ["x"], "c": ["b_x", "x"], "d": ["a_b_x_2"]},
         ["a_b_x", "a_b_x_3", "c_b_x", "c_x", "a_b_x_2"]),
        ({"a b": ["x"], "a-b": ["x"], "a_b": ["x"]}, ["a_b_x", "a-b_x", "a_b_x_2"]),
    ],
)  # fmt: skip
def test_no_two_names_are_the_same_even_where_they_are_put_together(
    servers: dict[str, list[str]], names: list[str]
) -> None:
    merged = merged_names(servers)
    assert list(merged) == names
    assert list(merged.values()) == [(of, name) for of, found in servers.items() for name in found]


def test_the_names_of_servers_are_fitted_to_what_tools_may_be_called() -> None:
    assert qualified("@Ada's cats", "feed") == "_Ada_s_cats_feed"
    assert qualified("ada.cats-2", "feed") == "ada.cats-2_feed"


@pytest.mark.parametrize(
    ("uri", "template", "fits"),
    [
        ("cats://tom", "cats://{name}", True),
        ("cats://tom/food", "cats://{name}", False),
        ("cats://tom/food", "cats://{name}/food", True),
        ("cats://tom/food", "cats://{+path}", True),
        ("cats://tom/a/b", "cats://tom{/steps*}", True),
        ("cats://tom?age=3", "cats://tom{?age}", True),
        ("cats://tom", "cats://tom{?age}", True),
        ("dogs://tom", "cats://{name}", False),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
        ("a{b", "a{b", True),
    ],
)
def test_a_uri_may_be_of_a_template(uri: str, template: str, *, fits: bool) -> None:
    assert may_be_of_template(uri, template) is fits


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("fed", "; did you mean 'feed'?"),
        ("go", "; did you mean 'cats_go' or 'dogs_go'?"),
        ("something", ""),
    ],
)
def test_what_is_near_an_unknown_name_is_suggested(name: str, hint: str) -> None:
    assert did_you_mean(name, ["feed", "cats_go", "dogs_go"]) == hint

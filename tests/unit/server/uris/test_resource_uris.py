"""The URIs of a resource template, as its function takes them, and what is refused in them."""

import logging
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import pytest
from msgspec import Meta

from wigwag.server.uris.resource_uris import ResourceSecurity, ResourceUris


def uris(
    template: str,
    types: Mapping[str, Any],
    defaults: Sequence[str] = (),
    **security: Any,
) -> ResourceUris:
    return ResourceUris(template, types, defaults, ResourceSecurity(**security))


def match(template: str, uri: str, **types: Any) -> dict[str, Any] | None:
    return uris(template, types).match(uri)


@pytest.mark.parametrize("kind", [str, int, UUID, Any, str | None])
def test_a_value_is_text_unless_the_function_takes_a_list(kind: Any) -> None:
    assert match("a://{x}", "a://b,c", x=kind) == {"x": "b,c"}
    assert match("a://{x*}", "a://b/c", x=kind) == {"x": "b/c"}
    assert match("a://b{/x*}", "a://b/c/d", x=kind) == {"x": "c/d"}


@pytest.mark.parametrize(
    "kind",
    [list, list[str], tuple[int, ...], set[str], frozenset[str], Sequence[str], list[int] | None,
     Annotated[list[str], Meta(max_length=3)]],
)  # fmt: skip
def test_a_list_is_a_list(kind: Any) -> None:
    assert match("a://{x}", "a://b,c", x=kind) == {"x": ["b", "c"]}
    assert match("a://b{/x*}", "a://b/c/d", x=kind) == {"x": ["c", "d"]}
    assert match("a://b{?x*}", "a://b?x=c", x=kind) == {"x": ["c"]}


def test_no_values_are_an_empty_list_unless_there_is_a_default() -> None:
    assert match("a://b{/x*}", "a://b", x=list[str]) == {"x": []}
    assert uris("a://b{?x*}", {"x": list[str]}, ["x"]).match("a://b") == {}
    assert match("a://b{?x}", "a://b", x=list[str]) == {}


# --- variables and parameters


@pytest.mark.parametrize(
    ("template", "types", "defaults"),
    [
        ("a://{x}", {}, []),
        ("a://{x}", {"y": str}, []),
        ("a://{x}", {"x": str, "y": str}, []),
        ("a://b{?x}", {"y": str}, ["y"]),
    ],
)
def test_variables_and_parameters_have_the_same_names(
    template: str, types: dict[str, Any], defaults: list[str]
) -> None:
    with pytest.raises(TypeError, match="must have the same names"):
        uris(template, types, defaults)
    assert uris("a://{x}", {"x": str, "y": int}, ["y"]).names == ["x"]


@pytest.mark.parametrize("kind", [dict, dict[str, str], Mapping[str, int], dict[str, int] | None])
def test_a_mapping_is_refused_for_its_names_could_be_any(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"a://b\{\?x\*\}: `x` is a mapping, and no template says"):
        uris("a://b{?x*}", {"x": kind})


def test_several_values_need_a_list_in_a_query() -> None:
    with pytest.raises(ValueError, match="its parameter must be a list"):
        uris("a://b{?x*}", {"x": str})


# --- what is refused


@pytest.mark.parametrize(
    "value",
    ["..", "%2e%2e", "%2E.", "a%2Fb", "a%5Cb", "..%2Fa", "%00", "a%00b", "a\\b", "%252e%252e",
     "%25252e.", "..%252Fa", "%252Fetc", "%2500", "%2Fetc", "C:", "c:a"],
)  # fmt: skip
def test_a_segment_does_not_climb_out_of_its_place(value: str) -> None:
    assert match("a://x/{id}", f"a://x/{value}", id=str) is None


@pytest.mark.parametrize(
    "value",
    ["../a", "a/..", "a/../b", "%2e%2e/a", "a%2F..", "..%5Ca", "a/%00", "/etc/passwd", "%2Fetc",
     "%5C%5Chost", "\\a", "C:/a", "C:\\a", "z:a", "a/%252e%252e/b", "%252Fetc", "a%252F%252E%252E"],
)  # fmt: skip
def test_a_path_does_not_climb_either(value: str) -> None:
    assert match("a://x/{+path}", f"a://x/{value}", path=str) is None
    assert match("a://x/{path*}", f"a://x/{value}", path=str) is None
    assert match("a://x{/path*}", f"a://x/{value}", path=str) is None


def test_every_part_of_a_list_and_the_values_of_queries_are_looked_at() -> None:
    for value in ("..", "%2e%2e", "%2Fetc", "b/..", "%00"):
        assert match("a://x{/path*}", f"a://x/a/{value}", path=list[str]) is None
        assert match("a://x{?q*}", f"a://x?q=a&q={value}", q=list[str]) is None
        assert match("a://x{?q}", f"a://x?q={value}", q=str) is None
        assert match("a://x{#f}", f"a://x#{value}", f=str) is None


@pytest.mark.parametrize("value", ["...", "a..b", "..a", ".", "v1..v2", "1:b", "ab:c", "~"])
def test_dots_that_do_not_climb_are_values(value: str) -> None:
    assert match("a://x/{id}", f"a://x/{value}", id=str) == {"id": value}


def test_a_value_is_decoded_once_though_it_is_looked_at_deeper() -> None:
    assert match("a://x/{id}", "a://x/a%252Fb", id=str) == {"id": "a%2Fb"}
    assert match("a://x/{id}", "a://x/100%2525", id=str) == {"id": "100%25"}
    assert match("a://x{?q}", "a://x?q=a/b", q=str) == {"q": "a/b"}


def test_a_value_that_is_encoded_without_end_is_refused() -> None:
    assert match("a://x/{id}", "a://x/%" + "25" * 6 + "41", id=str) is not None
    assert match("a://x/{id}", "a://x/%" + "25" * 20 + "41", id=str) is None


def test_what_is_refused_is_noted_for_the_author(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="wigwag.server")
    assert match("a://x/{+path}", "a://x/../y\n", path=str) is None
    assert match("a://x/{+path}", "b://x", path=str) is None
    assert caplog.messages == [
        r"'a://x/../y\n' is refused by its ResourceSecurity for the value of path"
    ]


def test_what_is_refused_can_be_allowed() -> None:
    types = {"path": str, "id": str}
    template = "a://{id}/{+path}"
    relaxed = uris(template, types, reject_path_traversal=False)
    assert relaxed.match("a://b%2Fc/../d") == {"id": "b/c", "path": "../d"}
    assert relaxed.match("a://b//d") is None
    absolute = uris(template, types, reject_absolute_paths=False)
    assert absolute.match("a://b//d") == {"id": "b", "path": "/d"}
    assert absolute.match("a://b/..") is None
    bytes_too = uris(template, types, reject_null_bytes=False)
    assert bytes_too.match("a://b/%00") == {"id": "b", "path": "\0"}
    exempt = uris(template, types, exempt_params={"path"})
    assert exempt.match("a://b//../%00") == {"id": "b", "path": "/../\0"}
    assert exempt.match("a://../x") is None

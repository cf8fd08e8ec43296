"""Which URIs a template stands for, and with which values."""

import time
from typing import Any

import pytest

from wigwag.server.uris.layout import Kind
from wigwag.server.uris.matching import UriMatcher
from wigwag.server.uris.templates import UriTemplate


def match(template: str, uri: str, **kinds: Kind) -> dict[str, Any] | None:
    return UriMatcher(UriTemplate(template), kinds).match(uri)


# --- one segment


def test_a_variable_is_one_segment() -> None:
    assert match("a://x/{id}", "a://x/7") == {"id": "7"}
    for uri in ("a://x/", "a://x/7/8", "a://x/7?b", "a://x/7#b", "a://y/7", "a://x/7/", "b://x/7"):
        assert match("a://x/{id}", uri) is None


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("a://{host}/x/{id}.{kind}?v={version}", "a://h/x/7.txt?v=2",
         {"host": "h", "id": "7", "kind": "txt", "version": "2"}),
        ("a://{name}.{ext}", "a://b.tar.gz", {"name": "b.tar", "ext": "gz"}),
        ("a://{x}-{y}-{z}", "a://1-2-3-4", {"x": "1-2", "y": "3", "z": "4"}),
        ("a://{x}-{y}", "a://-b", None),
        ("a://{x}-{y}", "a://b-", None),
        ("a://a{x}", "a://aaab", {"x": "aab"}),
        ("a://{x}b", "a://abbb", {"x": "abb"}),
        ("a://ab{x}ba", "a://aba", None),
        ("a://ab{x}ba", "a://abcba", {"x": "c"}),
        ("a://{x,y}", "a://1,2", {"x": "1", "y": "2"}),
        ("a://{x,y}", "a://1,2,3", None),
        ("a://{x},{y}", "a://1,2,3", {"x": "1,2", "y": "3"}),
        ("a://x{.y}", "a://x.b", {"y": "b"}),
        ("a://x{.y,z}", "a://x.b.c", {"y": "b", "z": "c"}),
        ("a://{x}{.y}{/z}", "a://b.c/d", {"x": "b", "y": "c", "z": "d"}),
        ("a:/{/x,y}", "a://1/2", {"x": "1", "y": "2"}),
        ("a:/{/x,y}", "a://1", None),
        ("{x}", "b", {"x": "b"}),
    ],
)  # fmt: skip
def test_variables_are_told_apart_by_what_stands_between_them(
    template: str, uri: str, values: dict[str, str] | None
) -> None:
    assert match(template, uri) == values


def test_values_are_decoded_once() -> None:
    assert match("a://{x}", "a://%C3%A9%20%25") == {"x": "é %"}
    assert match("a://{x}", "a://%2525") == {"x": "%25"}
    assert match("a://{x}", "a://%2e%2E") == {"x": ".."}
    assert match("a://{x}", "a://1+1") == {"x": "1+1"}
    assert match("a://{x}", "a://é") == {"x": "é"}
    assert match("a://{x}", "a://a\nb") == {"x": "a\nb"}
    assert match("a://{x}", "a://a\\b") == {"x": "a\\b"}
    assert match("a://{x}", "a://b%2Fc") == {"x": "b/c"}
    assert match("a://{x}", "a://100%") == {"x": "100%"}


@pytest.mark.parametrize("uri", ["a://%FF", "a://%C3", "a://\ud800"])
def test_what_is_no_utf_8_does_not_fit(uri: str) -> None:
    assert match("a://{x}", uri) is None


def test_the_text_of_a_template_is_no_pattern() -> None:
    assert match("a://x.y/(z)/{id}?", "a://x.y/(z)/7?") == {"id": "7"}
    assert match("a://x.y/{id}", "a://xzy/7") is None
    assert match("a://é/{id}", "a://é/7") == match("a://é/{id}", "a://%C3%A9/7") == {"id": "7"}


def test_a_template_without_variables_matches_itself() -> None:
    assert match("a://x", "a://x") == {}
    assert match("a://x", "a://x/") is None


def test_a_limit_on_characters_holds() -> None:
    assert match("a://{x:2}", "a://ab") == {"x": "ab"}
    assert match("a://{x:2}", "a://%C3%A9%C3%A9") == {"x": "éé"}
    assert match("a://{x:2}", "a://abc") is None


def test_the_first_characters_may_stand_before_the_whole() -> None:
    assert match("a:/{/x:1,x}", "a://v/value") == {"x": "value"}
    assert match("a://{x}/{x:1}", "a://value/v") == {"x": "value"}
    assert match("a:/{/x:1,x}", "a://w/value") is None


# --- several segments


def test_a_variable_that_keeps_reserved_characters_takes_slashes() -> None:
    for uri, path in [("one", "one"), ("one/two%20three", "one/two three"), ("a%2Fb", "a/b"),
                      ("a?b#c", "a?b#c"), ("a//b/", "a//b/")]:  # fmt: skip
        assert match("a://files/{+path}", f"a://files/{uri}") == {"path": path}
    assert match("a://files/{+path}", "a://files/") is None
    assert match("a://files/{+path}", "a://files") is None


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("a://{+path}/edit", "a://b/edit/edit", {"path": "b/edit"}),
        ("a://{+path}/edit", "a://edit", None),
        ("a://{user}/{+path}/{id}", "a://u/b/c/d/7", {"user": "u", "path": "b/c/d", "id": "7"}),
        ("a://{user}/{+path}/{id}", "a://u/7", None),
        ("a://{x}@{+path}.{ext}", "a://u@b/c.d/e.f", {"x": "u", "path": "b/c.d/e", "ext": "f"}),
        ("a://{user}@{+path}", "a://u/v@b", None),
        ("a://{+path}.{ext}", "a://b.c/d", None),
        ("a://{+path}?v={v}", "a://b/c?d?v=1", {"path": "b/c?d", "v": "1"}),
        ("{+path}", "anything/at/all", {"path": "anything/at/all"}),
    ],
)  # fmt: skip
def test_what_stands_around_it_is_told_from_both_ends(
    template: str, uri: str, values: dict[str, str] | None
) -> None:
    assert match(template, uri) == values


def test_an_exploded_variable_may_be_text_that_takes_slashes() -> None:
    assert match("a://{path*}", "a://b/c%20d", path="text") == {"path": "b/c d"}
    assert match("a://{path*}", "a://b,c%20d") == {"path": ["b", "c d"]}
    assert match("a://{path*}", "a://b/c") is None


def test_segments_are_a_list() -> None:
    template = "a://b{/path*}"
    assert match(template, "a://b/c/d%2Fe") == {"path": ["c", "d/e"]}
    assert match(template, "a://b") == {}
    for uri in ("a://b/", "a://b//c", "a://b/c/", "a://b/c?d", "a://bc"):
        assert match(template, uri) is None
    assert match(template, "a://b/c/d", path="text") == {"path": "c/d"}
    assert match("a://b{/path*}/end", "a://b/c/end") == {"path": ["c"]}
    assert match("a://b{/user,path*}{?q}", "a://b/u/c?q=1") == {
        "user": "u", "path": ["c"], "q": "1",
    }  # fmt: skip


def test_lists_are_told_apart_before_they_are_decoded() -> None:
    assert match("a://{x}", "a://b%2Cc,d", x="list") == {"x": ["b,c", "d"]}
    assert match("a://{+x}", "a://b/c,d", x="list") == {"x": ["b/c", "d"]}
    assert match("a://x{.y*}", "a://x.b.c") == {"y": ["b", "c"]}
    assert match("a://{?x}", "a://?x=b%2Cc,d", x="list") == {"x": ["b,c", "d"]}
    assert match("a://{?x}", "a://?x=b%2Cc,d") == {"x": "b,c,d"}
    assert match("a://{#x}", "a://#b,c", x="list") == {"x": ["b", "c"]}


# --- queries, fragments, parameters of a path


@pytest.mark.parametrize(
    ("uri", "values"),
    [
        ("a://b", {}),
        ("a://b?", {}),
        ("a://b?x=1", {"x": "1"}),
        ("a://b?y=2&x=1", {"x": "1", "y": "2"}),
        ("a://b?x=", {"x": ""}),
        ("a://b?x", {"x": ""}),
        ("a://b?x=1=2", {"x": "1=2"}),
        ("a://b?x=1%262", {"x": "1&2"}),
        ("a://b?%78=a+b/c?d", {"x": "a+b/c?d"}),
        ("a://b?&x=1&", {"x": "1"}),
        ("a://b?x=1&x=2", None),
        ("a://b?x=1#c", None),
        ("a://b/?x=1", None),
        ("a://b?z=1", {"?z": ""}),
        ("a://b?x=1&bad%20one=1&id=2", {"x": "1", "?bad one": "", "?id": ""}),
    ],
)
def test_a_query_has_its_variables_in_any_order_or_not(
    uri: str, values: dict[str, str] | None
) -> None:
    assert match("a://b{?x,y}", uri) == values


def test_a_query_may_be_written_out_in_part() -> None:
    template = "a://b?fixed=1&and{&x}"
    assert match(template, "a://b?fixed=1&and&x=2") == {"x": "2"}
    assert match(template, "a://b?x=2&and&fixed=1") == {"x": "2"}
    assert match(template, "a://b?fixed=1&and") == {}
    for uri in ("a://b?x=2", "a://b?fixed=2&and&x=2", "a://b"):
        assert match(template, uri) is None
    assert match("a://b{?x}{&y}", "a://b?y=1") == {"y": "1"}


def test_values_of_a_query_may_be_a_list() -> None:
    assert match("a://b{?x*,y}", "a://b?x=1&y=2&x=3") == {"x": ["1", "3"], "y": "2"}
    assert match("a://b{?x*}", "a://b") == {}


def test_a_name_in_the_query_is_no_variable_of_the_path() -> None:
    assert match("a://{id}{?x}", "a://7?id=8") == {"id": "7", "?id": ""}


def test_a_fragment_may_be_missing() -> None:
    assert match("a://{x}{#part}", "a://b#c/d?e") == {"x": "b", "part": "c/d?e"}
    assert match("a://{x}{#part}", "a://b") == {"x": "b"}
    assert match("a://{x}{?q}{#part}", "a://b?q=1#c") == {"x": "b", "q": "1", "part": "c"}
    assert match("a://{x}{#part}", "a://b?c#d") is None


def test_a_segment_may_have_parameters() -> None:
    template = "a://{x}{;v,w*}/{y}"
    assert match(template, "a://b;w=1;v=2;w=3/c") == {"x": "b", "v": "2", "w": ["1", "3"], "y": "c"}
    assert match(template, "a://b;v/c") == {"x": "b", "v": "", "y": "c"}
    assert match(template, "a://b/c") == {"x": "b", "y": "c"}
    assert match(template, "a://b;z=1/c") is None
    assert match("a://{+x}{;v}", "a://b;c/d;v=1") == {"x": "b;c/d", "v": "1"}


def test_the_variables_of_single_segments_are_known() -> None:
    matcher = UriMatcher(UriTemplate("a://{x}.{y}/{+path}{?q}{#f}"))
    assert matcher.segments == {"x", "y"}
    assert matcher.names == ["x", "y", "path", "q", "f"]


# --- time


@pytest.mark.parametrize(
    ("template", "unit"),
    [
        ("a://{x}-{y}-{z}!", "-"),
        ("a://{x}-{y}-{z}!", "a-"),
        ("a://{+path}/edit/{id}!", "/edit"),
        ("a://{x}/{+path}/{y}!", "/"),
        ("a://{+path}.{ext}!", ".a"),
        ("a://b{/path*}/end", "/end"),
        ("a://b{/path*}/!", "/a"),
        ("a://b{?x,y*}", "y=1&"),
        ("a://b{?x,y*}", "&"),
        ("a://b{;x,y*}", ";y=1"),
        ("a://{x}{#f}", "%41"),
        ("a://{x:5}{?y}", "%C3%A9"),
    ],
)
def test_a_hostile_uri_takes_time_in_proportion_to_its_length(template: str, unit: str) -> None:
    matcher = UriMatcher(UriTemplate(template))
    begins = "a://b?" if "{?" in template else "a://b;" if "{;" in template else "a://b"

    def seconds(count: int) -> float:
        uri = begins + unit * count
        started = time.process_time()
        matcher.match(uri)
        return time.process_time() - started

    seconds(1_000)
    short = min(seconds(20_000) for _ in range(3))
    long = min(seconds(320_000) for _ in range(3))
    # Sixteen times as long: quadratic would be 256 times the time.
    assert long < 100 * max(short, 0.0005)

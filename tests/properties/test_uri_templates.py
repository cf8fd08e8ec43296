"""Whatever values a template is expanded with, matching gives them back."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from wigwag.server.uris.matching import UriMatcher
from wigwag.server.uris.templates import UriTemplate


def texts(without: str = "") -> st.SearchStrategy[str]:
    characters = st.characters(exclude_categories=["Cs"], exclude_characters=without)
    return st.text(characters, min_size=1, max_size=8)


TEXT = texts()
# What RFC 6570 writes as it is, though it may be what stands between two variables.
PLAIN = texts(without="-._~")
# Reserved characters stay as they are, and what looks encoded already does as well.
RESERVED = texts(without="%?#")
LISTS = st.lists(TEXT, min_size=1, max_size=4)


@given(TEXT, TEXT)
def test_segments_come_back(one: str, other: str) -> None:
    values = {"one": one, "other": other}
    for text in (
        "a://{one}/{other}",
        "a:/{/one,other}",
        "a://{one,other}",
        "a://{one}/x;{other}",
        "a://{one}{;other}",
        "a://b{?one,other}",
        "a://b?c=d{&other,one}",
        "a://{one}{?other}",
        "a://{one:8}:{other}",
        "a:/{/one:1,one}/{other}",
    ):
        template = UriTemplate(text)
        assert template.match(template.expand(values)) == values, text


@given(PLAIN, PLAIN, PLAIN)
def test_parts_of_a_segment_come_back_unless_they_have_what_is_between_them(
    one: str, two: str, three: str
) -> None:
    values = {"one": one, "two": two, "three": three}
    for text in ("a://{one}-{two}.{three}", "a://{one}{.two,three}", "a://x{.one}-{two}~{three}"):
        template = UriTemplate(text)
        assert template.match(template.expand(values)) == values, text


@given(RESERVED, TEXT, TEXT)
def test_several_segments_come_back(wide: str, one: str, two: str) -> None:
    values = {"one": one, "wide": wide, "two": two}
    for text in ("a://{one}/{+wide}/{two}", "a://{one}/{+wide}{?two}", "a://{one}{?two}{#wide}"):
        template = UriTemplate(text)
        assert template.match(template.expand(values)) == values, text


@given(LISTS, TEXT)
def test_lists_come_back(several: list[str], one: str) -> None:
    values = {"one": one, "several": several}
    for text in (
        "a://{one}{/several*}",
        "a:/{/several*,one}",
        "a://{several*}/{one}",
        "a://{one}{?several*}",
        "a://{one}{;several*}",
        "a://{one}?b{&several*}",
    ):
        template = UriTemplate(text)
        assert template.match(template.expand(values)) == values, text
    template = UriTemplate("a://{one}/{several}")
    matcher = UriMatcher(template, {"several": "list"})
    assert matcher.match(template.expand(values)) == values


@given(st.dictionaries(st.sampled_from(["one", "two", "several"]), TEXT))
def test_what_is_left_out_of_a_query_is_left_out_of_the_values(known: dict[str, str]) -> None:
    values: dict[str, Any] = {**known}
    if "several" in values:
        values["several"] = [values["several"]] * 2
    template = UriTemplate("a://b{?one,two,several*}")
    assert template.match(template.expand(values)) == values


@given(st.text(max_size=30))
@example("{")
@example("{}")
@example("{x:3*}")
@example("a{/x*}{?y}{&z}{#f}")
def test_any_text_is_a_template_or_is_refused(text: str) -> None:
    try:
        template = UriTemplate(text)
        template.expand(dict.fromkeys(template.names, "x"))
        template.match(text)
    except ValueError:
        return


@given(st.text(max_size=30), st.text(st.sampled_from("a/:?&=;,.%2F#é-"), max_size=30))
def test_any_text_fits_or_does_not(uri: str, hostile: str) -> None:
    for text in ("a://{x}/{+y}.{z}{?q,r*}{#f}", "{+x}", "{/x*}/b{;y}", "a?b{&q*}", "{x:3}{.y}"):
        matcher = UriMatcher(UriTemplate(text))
        for each in (uri, hostile, "a:" + hostile):
            values = matcher.match(each)
            assert values is None or isinstance(values, dict)

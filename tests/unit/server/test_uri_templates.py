"""Which URIs a template stands for."""

import pytest

from wigwag.server.uri_templates import UriTemplate


def match(template: str, uri: str) -> dict[str, str] | None:
    return UriTemplate(template).match(uri)


def test_a_variable_is_one_segment() -> None:
    assert match("a://x/{id}", "a://x/7") == {"id": "7"}
    for uri in ("a://x/", "a://x/7/8", "a://x/7?b", "a://x/7#b", "a://y/7", "a://x/7/", "b://x/7"):
        assert match("a://x/{id}", uri) is None


def test_several_variables_are_told_apart_by_what_stands_between_them() -> None:
    template = UriTemplate("a://{host}/x/{id}.{kind}?v={version}")
    assert template.names == ["host", "id", "kind", "version"]
    assert template.match("a://h/x/7.txt?v=2") == {
        "host": "h", "id": "7", "kind": "txt", "version": "2",
    }  # fmt: skip


@pytest.mark.parametrize("variable", ["{+path}", "{path*}"])
def test_a_variable_of_several_segments_takes_slashes(variable: str) -> None:
    template = UriTemplate(f"a://files/{variable}")
    assert template.names == ["path"]
    assert template.match("a://files/one") == {"path": "one"}
    assert template.match("a://files/one/two%20three") == {"path": "one/two three"}
    assert template.match("a://files/one%2Ftwo") == {"path": "one/two"}
    assert template.match("a://files/") is None


def test_values_are_decoded_once() -> None:
    assert match("a://{x}", "a://%C3%A9%20%25") == {"x": "é %"}
    assert match("a://{x}", "a://%2525") == {"x": "%25"}
    assert match("a://{x}", "a://1+1") == {"x": "1+1"}
    assert match("a://{x}", "a://é") == {"x": "é"}
    assert match("a://{x}", "a://a\nb") == {"x": "a\nb"}


@pytest.mark.parametrize(
    "value", ["..", "%2e%2e", "%2E.", "a%2Fb", "a%5Cb", "..%2Fa", "%00", "a%00b", "a\\b"]
)
def test_a_segment_does_not_climb_out_of_its_place(value: str) -> None:
    assert match("a://x/{id}", f"a://x/{value}") is None


@pytest.mark.parametrize(
    "value", ["../a", "a/..", "a/../b", "%2e%2e/a", "a%2F..", "..%5Ca", "a/%00"]
)
def test_a_path_does_not_climb_either(value: str) -> None:
    for variable in ("{+path}", "{path*}"):
        assert match(f"a://x/{variable}", f"a://x/{value}") is None


@pytest.mark.parametrize("value", ["...", "a..b", "..a", ".", "%252e%252e"])
def test_dots_that_do_not_climb_are_values(value: str) -> None:
    assert match("a://x/{id}", f"a://x/{value}") is not None


def test_the_text_of_a_template_is_no_pattern() -> None:
    assert match("a://x.y/(z)/{id}?", "a://x.y/(z)/7?") == {"id": "7"}
    assert match("a://x.y/{id}", "a://xzy/7") is None


def test_a_template_without_variables_matches_itself() -> None:
    assert match("a://x", "a://x") == {}
    assert match("a://x", "a://x/") is None


def test_a_variable_stands_in_a_template_once() -> None:
    with pytest.raises(ValueError, match=r"a://\{x\}/\{\+x\}: the variable x stands in it twice"):
        UriTemplate("a://{x}/{+x}")


@pytest.mark.parametrize(
    "template",
    ["a://{?q}", "a://{/x}", "a://{x,y}", "a://{x:3}", "a://{#x}", "a://{}", "a://{x", "a://x}",
     "a://{1x}", "a://{{x}}", "a://{x-y}", "a://{ x }"],
)  # fmt: skip
def test_other_expressions_are_refused_and_not_taken_as_text(template: str) -> None:
    with pytest.raises(ValueError, match=r"only \{name\}, \{\+name\} and \{name\*\} are supported"):
        UriTemplate(template)

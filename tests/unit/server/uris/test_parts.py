"""What is a template, and what is none."""

import pytest

from wigwag.server.uris.parts import Expression, ParsedTemplate, Variable, encode_literal


def test_a_template_is_text_and_expressions() -> None:
    template = ParsedTemplate("a://{x}/{+y*,z:3}{?x}!")
    assert template.parts == (
        "a://",
        Expression("", (Variable("x"),)),
        "/",
        Expression("+", (Variable("y", is_exploded=True), Variable("z", prefix=3))),
        Expression("?", (Variable("x"),)),
        "!",
    )
    assert [variable.name for variable in template.variables] == ["x", "y", "z", "x"]
    assert template.names == ["x", "y", "z"]
    assert ParsedTemplate("").parts == ()
    assert ParsedTemplate("{a.b%20_1}").names == ["a.b%20_1"]


def test_what_no_uri_has_is_encoded_in_text() -> None:
    assert encode_literal("a://b/c?d=%20#e") == "a://b/c?d=%20#e"
    assert encode_literal("é <\\") == "%C3%A9%20%3C%5C"
    with pytest.raises(UnicodeEncodeError):
        encode_literal("\ud800")


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("a://{x", "a brace is opened and not closed"),
        ("a://x}", "a brace is closed that was not opened"),
        ("a://{{x}}", "'{x' is no name"),
        ("a://{}", "'' is no name"),
        ("a://{+}", "'' is no name"),
        ("a://{x,}", "'' is no name"),
        ("a://{x-y}", "'x-y' is no name; it has letters, digits, `_` and single dots"),
        ("a://{ x }", "' x ' is no name"),
        ("a://{x..y}", "'x..y' is no name"),
        ("a://{é}", "'é' is no name"),
        ("a://{!x}", "begins with '!', which has no meaning yet"),
        ("a://{=x}", "begins with '='"),
        ("a://{|x}", "begins with '|'"),
        ("a://{x:}", "after the colon stands a number"),
        ("a://{x:0}", "after the colon stands a number"),
        ("a://{x:10000}", "after the colon stands a number"),
        ("a://{x:²}", "after the colon stands a number"),
        ("a://{x*:3}", r"a variable has `*` or `:`, not both"),
    ],
)
def test_what_is_no_template_is_refused_with_the_reason(template: str, why: str) -> None:
    with pytest.raises(ValueError, match=r"^a://") as caught:
        ParsedTemplate(template)
    assert str(caught.value).startswith(template + ": ")
    assert why in str(caught.value)

"""Templates that cannot be matched back, as their values could not be told apart."""

import pytest

from wigwag.server.uris.layout import Kind, Layout
from wigwag.server.uris.templates import UriTemplate


def lay_out(template: str, **kinds: Kind) -> Layout:
    return Layout(UriTemplate(template), kinds)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("a://{x}{y}", "nothing tells where x ends and y begins"),
        ("a://{x}{+y}", "nothing tells where x ends and y begins"),
        ("a://{+x}/{+y}", "y takes slashes, and so does a variable before it"),
        ("a://{+x}-{+y}", "y takes slashes, and so does a variable before it"),
        ("a://{+x}{/y*}", "y takes slashes, and so does a variable before it"),
        ("a://{+x,y}", "several variables share {+…}, and their values may have commas"),
        ("a://b{#x,y}", "several variables share {#…}, and their values may have commas"),
        ("a://{x,y*}", "an exploded variable shares its braces, and nothing tells which `,`"),
        ("a://b{.x*,y}", "an exploded variable shares its braces, and nothing tells which `.`"),
        ("a://b{/x*}c", "c follows {/x*}, after which a slash must come"),
        ("a://b{/x*}{y}", "{y} follows {/x*}, after which a slash must come"),
        ("a://b{;x}c", "c follows {;…}, which must end its segment"),
        ("a://b{;x}{y}", "{y} follows {;…}, which must end its segment"),
        ("a://b{;x}{;y}", "{;…} follows {;…}, which must end its segment"),
        ("a://b{?x}/c", "only {&…} and {#…} can follow a query"),
        ("a://b{?x}{y}", "only {&…} and {#…} can follow a query"),
        ("a://b{?x}{?y}", "a query begins twice"),
        ("a://b{&x}", "{&…} goes on with a query that is written out before it"),
        ("a://b?c={x}{&y}", "{&…} goes on with a query that is written out before it"),
        ("a://b{#x}c", "nothing can follow its {#…}"),
        ("a://b{#x}{?y}", "nothing can follow its {#…}"),
    ],
)
def test_what_cannot_be_told_apart_is_refused_with_the_reason(template: str, why: str) -> None:
    with pytest.raises(ValueError, match="cannot be matched back: ") as caught:
        lay_out(template)
    assert str(caught.value).startswith(template)
    assert why in str(caught.value)


@pytest.mark.parametrize("template", ["a://{x}/{+x}", "a://{x}{?x}", "a://{x:1}/{x*}", "a:/{/x,x}"])
def test_a_variable_stands_in_a_template_once(template: str) -> None:
    with pytest.raises(ValueError, match="the variable x stands in it twice"):
        lay_out(template)


def test_kinds_must_go_with_the_template() -> None:
    with pytest.raises(ValueError, match=r"x\* stands for several values, so its parameter must"):
        lay_out("a://b{?x*}", x="text")
    with pytest.raises(ValueError, match="a list has no first characters, as x would"):
        lay_out("a://{x:2}", x="list")

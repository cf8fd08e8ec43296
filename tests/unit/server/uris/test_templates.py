"""Templates of RFC 6570: what is one, and what it expands to."""

from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from wigwag.server.uris.templates import UriTemplate

VALUES: dict[str, Any] = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "empty_keys": {},
    "empty_list": [],
    "undef": None,
}

# Of each operator what is particular to it, and what RFC 6570 has examples of.
EXPANSIONS = [
    # no operator
    ("{var}", "value"),
    ("{hello}", "Hello%20World%21"),
    ("{half}", "50%25"),
    ("O{empty}X", "OX"),
    ("O{undef}X", "OX"),
    ("{x,y}", "1024,768"),
    ("{x,hello,y}", "1024,Hello%20World%21,768"),
    ("?{x,empty}", "?1024,"),
    ("?{x,undef}", "?1024"),
    ("?{undef,y}", "?768"),
    ("{var:3}", "val"),
    ("{var:30}", "value"),
    ("{list}", "red,green,blue"),
    ("{list*}", "red,green,blue"),
    ("{keys}", "semi,%3B,dot,.,comma,%2C"),
    ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
    ("{empty_list}|{empty_keys*}", "%7C"),
    # reserved characters kept
    ("{+var}", "value"),
    ("{+hello}", "Hello%20World!"),
    ("{+half}", "50%25"),
    ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
    ("{+base}index", "http://example.com/home/index"),
    ("O{+empty}X", "OX"),
    ("O{+undef}X", "OX"),
    ("{+path}/here", "/foo/bar/here"),
    ("here?ref={+path}", "here?ref=/foo/bar"),
    ("up{+path}{var}/here", "up/foo/barvalue/here"),
    ("{+x,hello,y}", "1024,Hello%20World!,768"),
    ("{+path,x}/here", "/foo/bar,1024/here"),
    ("{+path:6}/here", "/foo/b/here"),
    ("{+list}", "red,green,blue"),
    ("{+list*}", "red,green,blue"),
    ("{+keys}", "semi,;,dot,.,comma,,"),
    ("{+keys*}", "semi=;,dot=.,comma=,"),
    # fragments
    ("{#var}", "#value"),
    ("{#hello}", "#Hello%20World!"),
    ("{#half}", "#50%25"),
    ("foo{#empty}", "foo#"),
    ("foo{#undef}", "foo"),
    ("{#x,hello,y}", "#1024,Hello%20World!,768"),
    ("{#path,x}/here", "#/foo/bar,1024/here"),
    ("{#path:6}here", "#/foo/bhere"),
    ("{#list*}", "#red,green,blue"),
    ("{#keys*}", "#semi=;,dot=.,comma=,"),
    # labels
    ("{.who}", ".fred"),
    ("{.who,who}", ".fred.fred"),
    ("{.half,who}", ".50%25.fred"),
    ("www{.dom*}", "www.example.com"),
    ("X{.var}", "X.value"),
    ("X{.empty}", "X."),
    ("X{.undef}", "X"),
    ("X{.var:3}", "X.val"),
    ("X{.list}", "X.red,green,blue"),
    ("X{.list*}", "X.red.green.blue"),
    ("X{.keys}", "X.semi,%3B,dot,.,comma,%2C"),
    ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
    ("X{.empty_keys*}", "X"),
    # segments
    ("{/who}", "/fred"),
    ("{/who,who}", "/fred/fred"),
    ("{/half,who}", "/50%25/fred"),
    ("{/who,dub}", "/fred/me%2Ftoo"),
    ("{/var,empty}", "/value/"),
    ("{/var,undef}", "/value"),
    ("{/var,x}/here", "/value/1024/here"),
    ("{/var:1,var}", "/v/value"),
    ("{/list}", "/red,green,blue"),
    ("{/list*}", "/red/green/blue"),
    ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
    ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
    # parameters of a path
    ("{;who}", ";who=fred"),
    ("{;half}", ";half=50%25"),
    ("{;empty}", ";empty"),
    ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;v,undef,who}", ";v=6;who=fred"),
    ("{;hello:5}", ";hello=Hello"),
    ("{;list}", ";list=red,green,blue"),
    ("{;list*}", ";list=red;list=green;list=blue"),
    ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"),
    ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
    # queries
    ("{?who}", "?who=fred"),
    ("{?half}", "?half=50%25"),
    ("{?x,y,empty}", "?x=1024&y=768&empty="),
    ("{?x,y,undef}", "?x=1024&y=768"),
    ("{?undef}", ""),
    ("{?var:3}", "?var=val"),
    ("{?list}", "?list=red,green,blue"),
    ("{?list*}", "?list=red&list=green&list=blue"),
    ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
    ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
    ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
    ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ("{&var:3}", "&var=val"),
    ("{&list*}", "&list=red&list=green&list=blue"),
]


@pytest.mark.parametrize(("template", "expanded"), EXPANSIONS)
def test_a_template_expands_as_the_rfc_says(template: str, expanded: str) -> None:
    assert UriTemplate(template).expand(VALUES) == expanded


def test_values_are_written_as_text() -> None:
    class Colour(Enum):
        RED = "red"

    number = UUID(int=7)
    values = {"a": 7, "b": True, "c": Colour.RED, "d": number, "e": 1.5, "f": [1, False]}
    assert UriTemplate("{a}/{b}/{c}/{d}/{e}/{f}").expand(values) == (
        f"7/true/red/{number}/1.5/1,false"
    )


def test_text_beyond_ascii_is_encoded_and_what_is_encoded_stays_so() -> None:
    assert UriTemplate("a://é b/{x}").expand({"x": "ü"}) == "a://%C3%A9%20b/%C3%BC"
    assert UriTemplate("a://%41/{+x}{y}").expand({"x": "%41%", "y": "%41"}) == "a://%41/%41%25%2541"


@pytest.mark.parametrize("value", [["a"], {"a": "b"}])
def test_only_text_has_a_beginning(value: Any) -> None:
    with pytest.raises(ValueError, match=r"a://\{x:2\}: x is .*, and only text has a beginning"):
        UriTemplate("a://{x:2}").expand({"x": value})


def test_a_template_is_shown_as_it_was_written_and_knows_its_variables() -> None:
    template = UriTemplate("a://{host}{/var:1,var}{?q*}")
    assert str(template) == template.template == "a://{host}{/var:1,var}{?q*}"
    assert repr(template) == "UriTemplate('a://{host}{/var:1,var}{?q*}')"
    assert template.names == ["host", "var", "q"]


def test_a_template_matches_what_it_expands_to_and_nothing_else() -> None:
    template = UriTemplate("a://{x}{?page}")
    assert template.match("a://b%20c?page=2") == {"x": "b c", "page": "2"}
    assert template.match("a://b?page=2&other=1") is None
    assert template.match("b://b") is None
    with pytest.raises(ValueError, match="cannot be matched back"):
        UriTemplate("a://{x}{y}").match("a://b")

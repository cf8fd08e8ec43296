from typing import Any

import pytest

from wigwag.testing.schema_changes import breaks_between

STRING: Any = {"type": "string"}
INTEGER: Any = {"type": "integer"}
NUMBER: Any = {"type": "number"}
NULL: Any = {"type": "null"}


def obj(required: list[str] | None = None, **properties: Any) -> Any:
    return {
        "type": "object",
        "properties": properties,
        "required": required or [],
        "additionalProperties": False,
    }


def either(*schemas: Any) -> Any:
    return {"anyOf": list(schemas)}


def texts(old: Any, new: Any, direction: Any) -> list[str]:
    return [found.text for found in breaks_between(old, new, direction)]


# What a value was, what it is now, and what that breaks for those who send it and who receive it.
CASES: list[tuple[Any, Any, list[str], list[str]]] = [
    (STRING, STRING, [], []),
    (STRING, {**STRING, "title": "T", "description": "d", "default": "x", "x-y": 1}, [], []),
    (INTEGER, NUMBER, [], ["`v` may be number now"]),
    (NUMBER, INTEGER, ["`v` does not take number any more"], []),
    (STRING, INTEGER, ["`v` does not take string any more"], ["`v` may be integer now"]),
    (STRING, either(STRING, NULL), [], ["`v` may be null now"]),
    ({"type": ["string", "null"]}, either(NULL, STRING), [], []),
    (either(STRING, NULL), STRING, ["`v` does not take null any more"], []),
    (either(STRING, INTEGER, NULL), either(NULL, INTEGER, STRING), [], []),
    (STRING, {}, [], ["`v` may be number or boolean or null or array or object now"]),
    (True, False, ["`v` does not take just anything any more"], []),
    ({"enum": ["a", "b"]}, {"enum": ["b", "a", "c"]}, [], ['`v` may be "c" now']),
    ({"enum": ["a", "b"]}, {"enum": ["b"]}, ['`v` does not take "a" any more'], []),
    ({"enum": ["a"], "type": "string"}, STRING, [], ['`v` may be other than "a" now']),
    (STRING, {"const": "a"}, ['`v` takes only "a" now'], []),
    ({"const": "a"}, {"const": "b"}, ['`v` does not take "a" any more'], ['`v` may be "b" now']),
    ({"enum": [1, "a"]}, either(INTEGER, {"const": "a"}), [], ['`v` may be other than 1, "a" now']),
    (
        {**INTEGER, "maximum": 10},
        {**INTEGER, "maximum": 20},
        [],
        ["`v` has `maximum` 20 now (it was 10)"],
    ),
    (
        {**INTEGER, "minimum": 0},
        {**INTEGER, "minimum": 1},
        ["`v` has `minimum` 1 now (it was 0)"],
        [],
    ),
    (
        INTEGER,
        {**INTEGER, "minimum": 0},
        ["`v` has `minimum` 0 now"],
        [],
    ),
    (
        {**NUMBER, "exclusiveMinimum": 0},
        {**NUMBER, "minimum": 0},
        [],
        ["`v` has no `exclusiveMinimum` any more (it was 0)"],
    ),
    (STRING, {**STRING, "minLength": 0}, [], []),
    (STRING, {**STRING, "maxLength": 5}, ["`v` has `maxLength` 5 now"], []),
    (
        {**INTEGER, "multipleOf": 4},
        {**INTEGER, "multipleOf": 2},
        [],
        ["`v` has `multipleOf` 2 now (it was 4)"],
    ),
    (
        {**STRING, "format": "date"},
        {**STRING, "format": "time"},
        ['`v` has `format` "time" now (it was "date")'],
        ['`v` has `format` "time" now (it was "date")'],
    ),
    (STRING, {**STRING, "pattern": "^a"}, ['`v` has `pattern` "^a" now'], []),
    (
        {"type": "array", "items": INTEGER},
        {"type": "array", "items": NUMBER},
        [],
        ["`v[]` may be number now"],
    ),
    (
        {"type": "array"},
        {"type": "array", "items": STRING},
        ["`v[]` does not take number or boolean or null or array or object any more"],
        [],
    ),
    (
        {"type": "array", "items": STRING},
        {"type": "array", "items": STRING, "uniqueItems": True},
        ["`v` has `uniqueItems` true now"],
        [],
    ),
    (
        {"type": "object", "additionalProperties": INTEGER},
        {"type": "object", "additionalProperties": STRING},
        ["`v.*` does not take integer any more"],
        ["`v.*` may be string now"],
    ),
    (
        {"type": "object"},
        {"type": "object", "additionalProperties": False},
        ["`v` does not take other members any more"],
        [],
    ),
    (obj(a=STRING), obj(a=STRING, b=STRING), [], []),
    (obj(a=STRING), obj(), ["`v.a` is gone"], ["`v.a` is gone"]),
    (obj(a=STRING), obj(["a"], a=STRING), ["`v.a` is required now"], []),
    (obj(["a"], a=STRING), obj(a=STRING), [], ["`v.a` may be missing now"]),
    (obj(), obj(["b"], b=STRING), ["`v.b` is required now"], []),
    (
        obj(a=STRING),
        obj(A=STRING),
        ["`v.a` is gone"],
        ["`v.a` is gone"],
    ),
    (
        either(obj(["a"], a=INTEGER), NULL),
        either(obj(["a"], a=NUMBER), NULL),
        [],
        ["`v.a` may be number now"],
    ),
    # The nearest of several is the one that was meant.
    (
        either(obj(["a"], a=STRING), obj(["b"], b=STRING)),
        either(obj(["a"], a=STRING), obj(["b"], b=STRING, c=STRING)),
        [],
        [],
    ),
    (
        {"not": {"type": "string"}},
        {"not": {"type": "null"}},
        ['`v` has `not` {"type": "null"} now (it was {"type": "string"})'],
        ['`v` has `not` {"type": "null"} now (it was {"type": "string"})'],
    ),
]


@pytest.mark.parametrize(("old", "new", "for_senders", "for_receivers"), CASES)
def test_a_change_breaks_those_whom_it_concerns(
    old: Any, new: Any, for_senders: list[str], for_receivers: list[str]
) -> None:
    assert texts(obj(v=old), obj(v=new), "input") == for_senders
    assert texts(obj(v=old), obj(v=new), "output") == for_receivers


def test_what_a_schema_says_of_text_is_nothing_to_a_number() -> None:
    assert texts(INTEGER, {"maxLength": 3}, "input") == []
    assert texts(either(INTEGER, STRING), {"maxLength": 3}, "input") == [
        "the whole has `maxLength` 3 now"
    ]


def test_references_are_followed_on_either_side() -> None:
    defs = {"$defs": {"Thing": obj(["a"], a=INTEGER)}}
    referring = {**obj(v={"$ref": "#/$defs/Thing"}), **defs}
    plain = obj(v=obj(["a"], a=NUMBER))
    assert texts(referring, plain, "input") == []
    assert texts(referring, plain, "output") == ["`v.a` may be number now"]


def test_a_schema_that_contains_itself_is_compared_as_far_as_it_goes() -> None:
    def tree(value: Any) -> Any:
        node = obj(value=value, children={"type": "array", "items": {"$ref": "#/$defs/Node"}})
        return {"$ref": "#/$defs/Node", "$defs": {"Node": node}}

    assert texts(tree(INTEGER), tree(NUMBER), "input") == []
    assert texts(tree(NUMBER), tree(INTEGER), "input") == [
        "`value` does not take number any more",
        "`children[].value` does not take number any more",
    ]


def test_what_cannot_be_compared_breaks_if_it_has_changed_at_all() -> None:
    def elsewhere(name: str, text: str) -> Any:
        return obj(v={"$ref": f"https://example.com/{name}", "description": text})

    assert texts(elsewhere("a", "x"), elsewhere("a", "x"), "input") == []
    assert texts(elsewhere("a", "x"), elsewhere("b", "x"), "input") == [
        "`v` has changed, and cannot be compared (https://example.com/a is elsewhere)"
    ]


def test_the_place_is_told_for_programs_as_well() -> None:
    old, new = obj(a={"type": "array", "items": obj(b=STRING)}), None
    new = obj(a={"type": "array", "items": obj(b=INTEGER)})
    (found,) = breaks_between(old, new, "input")
    assert found.pointer == ("properties", "a", "items", "properties", "b")


def test_the_whole_has_a_name_too() -> None:
    assert texts({"type": "array"}, STRING, "output") == ["the whole may be string now"]

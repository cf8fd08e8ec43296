"""Answers to forms that were given beforehand."""

from typing import Any

import pytest

from wigwag.client.given_answers import GivenAnswers
from wigwag.errors import LocalProtocolError
from wigwag.schema import ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult

pytestmark = pytest.mark.anyio

FORM = ElicitRequestFormParams(
    message="Who comes?",
    requested_schema={
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "seats": {"type": "integer", "maximum": 9},
            "hall": {"type": "string", "enum": ["a", "b"], "default": "a"},
        },
        "required": ["name", "seats", "hall"],
    },
)
PAGE = ElicitRequestURLParams(
    mode="url", message="Pay", url="https://example.com", elicitation_id="1"
)


async def somebody(params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "somebody"})


@pytest.mark.parametrize("answers", [["name=Ada", "seats=2"], {"name": "Ada", "seats": "2"}])
async def test_a_form_is_filled_in_with_what_was_given(answers: Any) -> None:
    result = await GivenAnswers(answers)(FORM)
    assert result == ElicitResult(action="accept", content={"name": "Ada", "seats": 2})


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (["name=Ada"], "the server asks 'Who comes?', and no answer was given for seats"),
        (["name=Ada", "seat=2"], "for seats; did you mean 'seats'?"),
        (["name=Ada", "seats=10"], "the answer for seats does not fit: at most 9"),
        (["name=Ada", "seats=x"], "the answer for seats does not fit: a whole number"),
    ],
)
async def test_what_is_missing_or_does_not_fit_is_told(answers: list[str], reason: str) -> None:
    with pytest.raises(LocalProtocolError) as failed:
        await GivenAnswers(answers)(FORM)
    assert reason in str(failed.value)


async def test_somebody_else_is_asked_for_what_was_not_given() -> None:
    answers = GivenAnswers(["name=Ada"], otherwise=somebody)
    assert (await answers(FORM)).content == {"name": "somebody"}
    assert (await answers(PAGE)).action == "accept"


@pytest.mark.parametrize(
    ("answer", "value"), [("2", "2"), ("4", "4"), ("8", "8"), ("twice", "4"), ("1", "2")]
)
async def test_a_choice_is_meant_by_its_value_or_its_title_before_its_number(
    answer: str, value: str
) -> None:
    weeks = [{"const": "2", "title": "once"}, {"const": "4", "title": "twice"}, {"const": "8"}]
    form = {"type": "object", "properties": {"weeks": {"type": "string", "oneOf": weeks}}}
    params = ElicitRequestFormParams(message="How long?", requested_schema=form)
    assert (await GivenAnswers({"weeks": answer})(params)).content == {"weeks": value}


async def test_several_choices_are_given_with_commas() -> None:
    days = {"type": "array", "items": {"enum": ["mo", "tu wed", "3"]}, "maxItems": 2}
    form = {"type": "object", "properties": {"days": days}}
    params = ElicitRequestFormParams(message="When?", requested_schema=form)
    answered = await GivenAnswers({"days": "3, tu wed"})(params)
    assert answered.content == {"days": ["3", "tu wed"]}
    with pytest.raises(LocalProtocolError, match="choose at most 2"):
        await GivenAnswers({"days": "1,2,3,mo,tu wed"})(params)


async def test_a_page_is_declined_where_nobody_can_open_it() -> None:
    answers = GivenAnswers(["name=Ada"])
    assert not answers.takes_pages
    assert await answers(PAGE) == ElicitResult(action="decline")


async def test_a_form_that_is_none_is_told() -> None:
    form = ElicitRequestFormParams(
        message="?", requested_schema={"type": "object", "properties": {"x": {"type": "alien"}}}
    )
    with pytest.raises(LocalProtocolError, match="asks for what cannot be asked"):
        await GivenAnswers([])(form)


@pytest.mark.parametrize("word", ["name", "=Ada"])
def test_a_word_that_is_no_answer_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="an answer is name=value"):
        GivenAnswers([word])

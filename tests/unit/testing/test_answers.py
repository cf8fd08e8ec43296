from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET

from wigwag.schema import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ImageContent,
    SamplingMessage,
    TextContent,
)
from wigwag.testing import ScriptError
from wigwag.testing.answers import Answers

pytestmark = pytest.mark.anyio

FORM = ElicitRequestFormParams(
    message="Who are you?",
    requested_schema={
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "card": {"type": "boolean", "default": True},
            "age": {"type": "integer"},
        },
        "required": ["name", "card"],
    },
)
PAGE = ElicitRequestURLParams(mode="url", message="Pay here", url="https://example.com/pay")
TALK = CreateMessageRequestParams(
    messages=[
        SamplingMessage(role="user", content=TextContent(text="first")),
        SamplingMessage(
            role="user", content=[TextContent(text="one"), TextContent(text="another")]
        ),
    ],
    max_tokens=5,
)
EMPTY = ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object"})


async def elicited(script: Any, params: Any = FORM) -> ElicitResult:
    return await Answers(elicit=script).answer_elicitation(params)


async def test_a_dict_is_an_accepted_form() -> None:
    assert await elicited({"name": "Ann"}) == ElicitResult(action="accept", content={"name": "Ann"})


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_may_decline_and_cancel(action: Any) -> None:
    assert await elicited(action) == ElicitResult(action=action)
    assert await elicited(action, PAGE) == ElicitResult(action=action)


async def test_a_form_or_page_may_be_accepted_as_it_is() -> None:
    assert await elicited("accept", EMPTY) == ElicitResult(action="accept", content={})
    assert await elicited("accept", PAGE) == ElicitResult(action="accept", content=UNSET)


async def test_a_result_goes_back_as_it_is_even_if_it_is_none_for_the_form() -> None:
    odd = ElicitResult(action="accept", content={"nonsense": 1})
    assert await elicited(odd) is odd


async def test_functions_answer_what_they_are_asked() -> None:
    def plain(params: Any) -> str:
        return "decline" if params is FORM else "accept"

    async def waiting(params: Any) -> dict[str, str]:
        return {"name": params.message}

    assert (await elicited(plain)).action == "decline"
    assert (await elicited(waiting)).content == {"name": "Who are you?"}
    assert (await elicited([waiting])).content == {"name": "Who are you?"}


async def test_an_exception_is_raised() -> None:
    with pytest.raises(OSError, match="the user is gone"):
        await elicited([OSError("the user is gone")])


@pytest.mark.parametrize(
    ("script", "params", "reason"),
    [
        ({"nmae": "Ann"}, FORM, "'nmae', and the form .*'Who are you.* has: name, card, age"),
        ({"age": 3}, FORM, r"""needs 'name', and the answer has no such field: \{"age": 3\}"""),
        ("accept", FORM, "needs 'name'"),
        ({"x": 1}, EMPTY, "it has: none"),
        ({"x": 1}, PAGE, r"'Pay here' \(a page: https://example\.com/pay\), and a page cannot"),
        (3, FORM, "3 is no answer to an elicitation"),
        ("declined", FORM, '"declined" is no answer to an elicitation'),
    ],
)
async def test_an_answer_that_is_none_fails(script: Any, params: Any, reason: str) -> None:
    answers = Answers(elicit=script)
    with pytest.raises(ScriptError, match=reason) as caught:
        await answers.answer_elicitation(params)
    assert answers.failure is caught.value


async def test_text_and_content_are_what_a_model_says() -> None:
    image = ImageContent(data="", mime_type="image/png")
    whole = CreateMessageResult(role="assistant", content=image, model="m")
    answers = Answers(sample=["yes", image, whole, lambda params: params.messages[0].content])
    first = await answers.answer_sampling(TALK)
    assert first == CreateMessageResult(
        role="assistant",
        content=TextContent(text="yes"),
        model="scripted",
        stop_reason="endTurn",
    )
    assert (await answers.answer_sampling(TALK)).content == image
    assert await answers.answer_sampling(TALK) is whole
    assert (await answers.answer_sampling(TALK)).text == "first"


async def test_what_no_model_says_fails() -> None:
    with pytest.raises(ScriptError, match=r'\{"a": 1\} is no answer of a model'):
        await Answers(sample={"a": 1}).answer_sampling(TALK)


async def test_one_answer_serves_every_question_and_none() -> None:
    answers = Answers(elicit="decline", sample="yes")
    for _ in range(3):
        assert (await answers.answer_elicitation(FORM)).action == "decline"
    answers.check_used()


async def test_a_list_has_one_answer_for_each_question() -> None:
    answers = Answers(elicit=("decline", {"name": "Ann"}))
    assert (await answers.answer_elicitation(FORM)).action == "decline"
    with pytest.raises(
        ScriptError, match=r"""all answers of `elicit`; left are: \{"name": "Ann"\}"""
    ):
        answers.check_used()
    answers.check_used()  # it is told once


@pytest.mark.parametrize(
    ("ask", "asked"),
    [
        (
            lambda answers: answers.answer_elicitation(FORM),
            "a form with the fields: name, card, age",
        ),
        (lambda answers: answers.answer_elicitation(EMPTY), "a form with the fields: none"),
        (lambda answers: answers.answer_elicitation(PAGE), "a page: https://example"),
        (lambda answers: answers.answer_sampling(TALK), "the model 'one.nanother'"),
    ],
)
async def test_a_question_without_an_answer_fails_and_says_what_was_asked(
    ask: Callable[[Answers], Any], asked: str
) -> None:
    answers = Answers(elicit=[], sample=[])
    with pytest.raises(ScriptError, match=f"{asked}.* has no answer: there are none"):
        await ask(answers)


async def test_it_says_how_many_answers_there_were() -> None:
    answers = Answers(sample=["a", "b"])
    await answers.answer_sampling(TALK)
    await answers.answer_sampling(TALK)
    with pytest.raises(ScriptError, match="all 2 answers were given"):
        await answers.answer_sampling(TALK)


async def test_what_was_asked_can_be_looked_at() -> None:
    answers = Answers(elicit={"name": "Ann"}, sample="yes")
    await answers.answer_elicitation(FORM)
    said = await answers.answer_sampling(TALK)
    answers.note_roots(["/a"])
    form, talk, roots = answers.asked
    assert (form.method, form.params, form.message) == ("elicitation/create", FORM, "Who are you?")
    assert form.answer.content == {"name": "Ann"}
    assert (talk.method, talk.message) == ("sampling/createMessage", "one\nanother")
    assert talk.answer is said
    assert (roots.method, roots.message, roots.answer) == ("roots/list", "", ["/a"])

"""Answers to what servers ask."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, Raw

from wigwag.client.questions import Answers, who_asks
from wigwag.errors import LocalProtocolError, RemoteProtocolError, RequestFailed
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.schema import (
    ELICITATION_CREATE,
    ROOTS_LIST,
    SAMPLING_CREATE_MESSAGE,
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequest,
    ListRootsResult,
    Root,
    RootsCapability,
    SamplingCapability,
    SamplingMessage,
    TextContent,
)

pytestmark = pytest.mark.anyio

NEWEST = "2026-07-28"
SAID = CreateMessageResult(role="assistant", content=TextContent(text="hi"), model="m")
ASKED = CreateMessageRequestParams(
    messages=[SamplingMessage(role="user", content=TextContent(text="hello"))], max_tokens=5
)
FORM = ElicitRequestFormParams(
    message="Who?",
    requested_schema={
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "size": {"type": "string", "default": "M"},
            "gift": {"type": "boolean", "default": False},
        },
    },
)
PAGE = ElicitRequestURLParams(mode="url", message="Log in.", url="https://example.com")
FORM_JSON = Raw(
    b'{"message":"Who?","requestedSchema":{"type":"object","properties":'
    b'{"size":{"type":"string","default":"M"}}}}'
)


async def elicited(answer: Any, params: Any = FORM) -> ElicitResult:
    result = await Answers(elicitation=lambda _: answer).answer(ELICITATION_CREATE, params)
    assert isinstance(result, ElicitResult)
    return result


async def roots(value: Any) -> list[Root]:
    result = await Answers(roots=value).answer(ROOTS_LIST, UNSET)
    assert isinstance(result, ListRootsResult)
    return result.roots


# --- what is declared


def test_what_can_be_answered_is_declared() -> None:
    assert Answers().capabilities == ClientCapabilities()
    answers = Answers(sampling=lambda _: SAID, elicitation=lambda _: None, roots=[])
    assert answers.capabilities == ClientCapabilities(
        sampling=SamplingCapability(),
        elicitation=ElicitationCapability(form={}),
        roots=RootsCapability(list_changed=True),
    )


def test_what_is_declared_in_other_words_stays_so() -> None:
    declared = ClientCapabilities(
        elicitation=ElicitationCapability(form={}, url={}),
        roots=RootsCapability(),
        experimental={"x": {}},
    )
    answers = Answers(elicitation=lambda _: None, roots=[], capabilities=declared)
    assert answers.capabilities == declared


@pytest.mark.parametrize(
    "method", [SAMPLING_CREATE_MESSAGE, ELICITATION_CREATE, ROOTS_LIST, "tools/list", "zzz"]
)
async def test_what_nobody_answers_is_no_method_of_the_client(method: str) -> None:
    with pytest.raises(RequestFailed, match=f"this client has no {method}") as caught:
        await Answers().answer(method, None)
    assert caught.value.code == METHOD_NOT_FOUND


# --- the model


async def test_the_model_is_asked_by_a_plain_function_or_an_async_one() -> None:
    seen: list[CreateMessageRequestParams] = []

    def plain(params: CreateMessageRequestParams) -> CreateMessageResult:
        seen.append(params)
        return SAID

    async def later(params: CreateMessageRequestParams) -> CreateMessageResult:
        return plain(params)

    for sampling in (plain, later):
        answers = Answers(sampling=sampling)
        assert await answers.answer(SAMPLING_CREATE_MESSAGE, ASKED) is SAID
    assert seen == [ASKED, ASKED]


@pytest.mark.parametrize(
    "value", [None, "hi", {"role": "assistant"}, ElicitResult(action="accept")]
)
async def test_the_model_answers_by_a_result_and_nothing_else(value: Any) -> None:
    answers = Answers(sampling=lambda _: value)
    kind = type(value).__name__
    with pytest.raises(LocalProtocolError, match=f"return a CreateMessageResult, not {kind}"):
        await answers.answer(SAMPLING_CREATE_MESSAGE, ASKED)


# --- the user


async def test_the_fields_of_a_form_accept_it_and_what_was_filled_in_stays() -> None:
    assert await elicited({"name": "Ada", "size": "L"}) == ElicitResult(
        action="accept", content={"name": "Ada", "size": "L", "gift": False}
    )
    assert await elicited({}) == ElicitResult(action="accept", content={"size": "M", "gift": False})


async def test_an_accepted_form_without_content_has_what_was_filled_in() -> None:
    assert await elicited(ElicitResult(action="accept")) == ElicitResult(
        action="accept", content={"size": "M", "gift": False}
    )


async def test_a_form_without_fields_is_accepted_with_nothing() -> None:
    for schema in ({"type": "object"}, {"type": "object", "properties": {"x": True}}):
        params = ElicitRequestFormParams(message="?", requested_schema=schema)
        assert (await elicited({}, params)).content == {}


async def test_nothing_cancels() -> None:
    assert await elicited(None) == ElicitResult(action="cancel")


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_form_that_was_not_accepted_has_no_content(action: Any) -> None:
    assert await elicited(ElicitResult(action=action)) == ElicitResult(action=action)


async def test_a_page_that_was_accepted_has_no_content() -> None:
    result = ElicitResult(action="accept")
    assert await elicited(result, PAGE) is result
    assert await elicited(None, PAGE) == ElicitResult(action="cancel")


async def test_the_user_is_asked_by_an_async_function_too() -> None:
    async def later(params: Any) -> dict[str, Any]:
        return {"name": params.message}

    result = await Answers(elicitation=later).answer(ELICITATION_CREATE, FORM)
    assert isinstance(result, ElicitResult)
    assert result.content == {"name": "Who?", "size": "M", "gift": False}


@pytest.mark.parametrize("value", ["yes", True, 7, ["a"], SAID])
async def test_the_user_answers_by_a_result_or_fields_and_nothing_else(value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(LocalProtocolError, match=f"must return an ElicitResult, not {kind}"):
        await elicited(value)


# --- the roots


async def test_roots_are_folders_or_uris_or_roots(tmp_path: Path) -> None:
    folder = Root(uri=tmp_path.as_uri(), name=tmp_path.name)
    other = Root(uri="file:///other", name="other")
    assert await roots([tmp_path, str(tmp_path), "file:///x%20y", other]) == [
        folder,
        folder,
        Root(uri="file:///x%20y"),
        other,
    ]


async def test_one_root_needs_no_list(tmp_path: Path) -> None:
    folder = Root(uri=tmp_path.as_uri(), name=tmp_path.name)
    assert await roots(tmp_path) == [folder]
    assert await roots(str(tmp_path)) == [folder]
    assert await roots("file:///x") == [Root(uri="file:///x")]


async def test_a_relative_folder_becomes_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a b").mkdir()
    monkeypatch.chdir(tmp_path)
    (root,) = await roots(["a b"])
    assert root == Root(uri=(tmp_path / "a b").as_uri(), name="a b")
    assert root.uri.endswith("/a%20b")


async def test_the_folder_of_everything_has_no_name() -> None:
    assert await roots(["/"]) == [Root(uri="file:///")]


async def test_roots_are_looked_up_each_time_a_function_gives_them() -> None:
    given: list[Any] = ["file:///a"]
    answers = Answers(roots=lambda: given)
    for count in (1, 2):
        result = await answers.answer(ROOTS_LIST, UNSET)
        assert isinstance(result, ListRootsResult)
        assert len(result.roots) == count
        given.append("file:///b")
    assert await roots(lambda: "file:///x") == [Root(uri="file:///x")]
    assert await roots([]) == []


async def test_a_function_that_gives_roots_may_have_to_wait_for_them() -> None:
    async def find() -> list[str]:
        await asyncio.sleep(0)
        return ["file:///x"]

    assert await roots(find) == [Root(uri="file:///x")]


async def test_a_root_that_is_no_folder_is_our_own_mistake(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for root in (file, tmp_path / "gone", "https://example.com"):
        with pytest.raises(LocalProtocolError, match="is no folder"):
            await roots([root])


# --- the questions of a result


async def test_all_questions_of_a_result_are_answered_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    async def sampling(params: CreateMessageRequestParams) -> CreateMessageResult:
        await both.wait()
        return SAID

    async def elicitation(params: Any) -> dict[str, Any]:
        await both.wait()
        return {}

    answers = Answers(sampling=sampling, elicitation=elicitation, roots="file:///x")
    questions = {
        "one": InputRequest(
            method=SAMPLING_CREATE_MESSAGE, params=Raw(b'{"messages":[],"maxTokens":1}')
        ),
        "two": InputRequest(method=ELICITATION_CREATE, params=FORM_JSON),
        "three": InputRequest(method=ROOTS_LIST),
    }
    async with asyncio.timeout(30):
        found = await answers.answer_all(questions, NEWEST)
    assert list(found) == ["one", "two", "three"]
    assert {key: json.loads(bytes(value)) for key, value in found.items()} == {
        "one": {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"},
        "two": {"action": "accept", "content": {"size": "M"}},
        "three": {"roots": [{"uri": "file:///x"}]},
    }
    assert await answers.answer_all({}, NEWEST) == {}


async def refused(question: InputRequest, answers: Answers) -> str:
    fine = InputRequest(method=ROOTS_LIST)
    with pytest.raises(RemoteProtocolError) as caught:
        await answers.answer_all({"fine": fine, "broken": question}, NEWEST)
    return str(caught.value)


def nobody(params: Any) -> Any:
    raise AssertionError("nothing is asked when one of the questions is broken")


@pytest.mark.parametrize("method", ["tools/list", "ping", "zzz", ""])
async def test_what_is_no_question_breaks_the_protocol(method: str) -> None:
    answers = Answers(roots=lambda: nobody(None))
    question = InputRequest(method=method)
    assert await refused(question, answers) == f"the server asks for {method}, which is no question"


@pytest.mark.parametrize(
    "params", [UNSET, Raw(b"{}"), Raw(b"[]"), Raw(b'{"message":7}'), Raw(b'{"message":"\xff"}')]
)
async def test_a_question_with_broken_params_breaks_the_protocol(params: Any) -> None:
    answers = Answers(roots=lambda: nobody(None), elicitation=nobody)
    question = InputRequest(method=ELICITATION_CREATE, params=params)
    assert (await refused(question, answers)).startswith(
        "the server's elicitation/create is broken"
    )


@pytest.mark.parametrize(
    "question",
    [
        InputRequest(method=SAMPLING_CREATE_MESSAGE, params=Raw(b'{"messages":[],"maxTokens":1}')),
        InputRequest(
            method=ELICITATION_CREATE,
            params=Raw(b'{"mode":"url","message":"m","url":"https://example.com"}'),
        ),
    ],
)
async def test_a_question_that_was_not_declared_breaks_the_protocol(question: InputRequest) -> None:
    answers = Answers(roots=lambda: nobody(None), elicitation=nobody)
    assert await refused(question, answers) == (
        f"the server asks for {question.method}, which this client did not declare"
    )


class AskingEither:
    takes_pages = True

    async def __call__(self, params: Any) -> dict[str, str]:
        return {"who": who_asks.get()}


def test_a_function_that_takes_pages_has_them_declared() -> None:
    declared = Answers(elicitation=AskingEither()).capabilities.elicitation
    assert declared == ElicitationCapability(form={}, url={})
    forms = ClientCapabilities(elicitation=ElicitationCapability(form={}))
    assert Answers(elicitation=AskingEither(), capabilities=forms).capabilities == forms


async def test_a_function_that_answers_can_tell_who_asks() -> None:
    answers = Answers(elicitation=AskingEither(), who=lambda: "The kitchen")
    result = await asyncio.create_task(answers.answer(ELICITATION_CREATE, PAGE))
    assert result == ElicitResult(action="accept", content={"who": "The kitchen"})
    assert who_asks.get() == "The server"

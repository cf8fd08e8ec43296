from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw

from wigwag import elicit, elicit_url, list_roots, sample
from wigwag.schema import (
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitResult,
    ImageContent,
    InputRequest,
    ListRootsResult,
    ModelPreferences,
    Root,
    RootsCapability,
    SamplingCapability,
    SamplingMessage,
    TextContent,
    Tool,
    ToolChoice,
)
from wigwag.server.asking.questions import (
    AcceptedElicitation,
    AnswerRefused,
    AnswerUnfit,
    CancelledElicitation,
    DeclinedElicitation,
    as_question,
    read_by_shape,
)

SAID = b'{"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}'


def raw(value: Any) -> Raw:
    return Raw(value if isinstance(value, bytes) else msgspec.json.encode(value))


def test_a_form_is_read_as_what_the_user_did() -> None:
    question = elicit("Who?", {"name": str})
    accepted = question.read(raw({"action": "accept", "content": {"name": "Ada"}}))
    assert accepted == AcceptedElicitation({"name": "Ada"}, {"name": "Ada"})
    assert question.read(raw({"action": "decline"})) == DeclinedElicitation()
    assert question.read(raw({"action": "cancel", "content": {}})) == CancelledElicitation()
    with pytest.raises(AnswerUnfit, match="`name` is missing"):
        question.read(raw({"action": "accept"}))
    with pytest.raises(AnswerUnfit, match="expected string"):
        question.read(raw({"action": "accept", "content": {"name": 3}}))


def test_a_page_has_no_content() -> None:
    question = elicit_url("Go", "https://example.com")
    assert question.read(raw({"action": "accept"})) == AcceptedElicitation(None, {})
    assert question.read(raw({"action": "decline"})) == DeclinedElicitation()


def test_models_and_roots_are_read_as_the_protocol_has_them() -> None:
    answer = sample("hi", max_tokens=1).read(raw(SAID))
    assert answer == CreateMessageResult(
        role="assistant", model="m", content=TextContent(text="hi")
    )
    assert answer.text == "hi"
    roots = list_roots().read(raw({"roots": [{"uri": "file:///a"}]}))
    assert roots == roots.roots == [Root(uri="file:///a")]


@pytest.mark.parametrize(
    "question", [elicit("?", str), elicit_url("?", "x:y"), sample("?", max_tokens=1), list_roots()]
)
@pytest.mark.parametrize("answer", [b"42", b"null", b"[]", b"{}", b'"x"'])
def test_what_is_no_answer_is_refused(question: Any, answer: bytes) -> None:
    with pytest.raises(AnswerRefused, match="it is no result of"):
        question.read(raw(answer))


def test_what_a_client_must_have_declared() -> None:
    form = ClientCapabilities(elicitation=ElicitationCapability())
    page = ClientCapabilities(elicitation=ElicitationCapability(url={}))
    assert elicit("?", str).needed == form
    assert elicit_url("?", "https://x").needed == page
    assert list_roots().needed == ClientCapabilities(roots=RootsCapability())
    model = ClientCapabilities(sampling=SamplingCapability())
    assert sample("?", max_tokens=1).needed == model
    tools = ClientCapabilities(sampling=SamplingCapability(tools={}))
    assert sample("?", max_tokens=1, tools=[]).needed == tools


def params_of(messages: Any, **options: Any) -> CreateMessageRequestParams:
    params = sample(messages, max_tokens=5, **options).params
    assert isinstance(params, CreateMessageRequestParams)
    return params


def test_messages_may_be_text_content_messages_or_a_list_of_these() -> None:
    image = ImageContent(data="", mime_type="image/png")
    said = SamplingMessage(role="assistant", content=TextContent(text="b"))
    asked = [
        SamplingMessage(role="user", content=TextContent(text="a")),
        said,
        SamplingMessage(role="user", content=image),
    ]
    assert params_of(["a", said, image]).messages == asked
    assert params_of("a").messages == asked[:1]
    assert params_of(said).messages == [said]
    assert params_of(image).messages == asked[2:]


def test_what_cannot_be_shown_to_a_user_is_refused() -> None:
    for message in (None, 3, b"text"):
        with pytest.raises(TypeError, match="the message to the user is text"):
            elicit(message, str)  # type: ignore[call-overload]
    for url in ("example", "https:", "https:///path", "http://[::1", "https://a b", "x:\n", ""):
        with pytest.raises(ValueError, match="is no URL"):
            elicit_url("Go", url)
    with pytest.raises(TypeError, match="a URL is text"):
        elicit_url("Go", 3)  # type: ignore[arg-type]
    for url in (
        "https://example.com/a?b#c",
        "http://[::1]:80",
        "app:open",
        "https://\u00e9.example",
    ):
        assert elicit_url("Go", url).params.url == url  # type: ignore[union-attr]


def test_fields_that_were_left_empty_may_come_as_null() -> None:
    question = elicit("Who?", {"name": str, "age": int | None, "note": str | None})
    content = {"name": "Ada", "age": None, "note": "null"}
    accepted = question.read(raw({"action": "accept", "content": content}))
    assert accepted.content == {"name": "Ada", "note": "null"}
    assert accepted.data == {"name": "Ada", "note": "null"}
    for odd in (b'{"action":"accept","content":null}', b'{"action":null}', b"null", b'["null"]'):
        with pytest.raises(AnswerRefused):
            question.read(raw(odd))


def test_a_question_may_be_written_as_the_protocol_has_it() -> None:
    form = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
    question = as_question(InputRequest(method="elicitation/create", params=raw(form)))
    assert isinstance(question.params, ElicitRequestFormParams)
    assert question.needed == elicit("?").needed
    assert question.read(raw({"action": "decline"})) == ElicitResult(action="decline")
    page = {"mode": "url", "message": "Go", "url": "https://example.com"}
    question = as_question(InputRequest(method="elicitation/create", params=raw(page)))
    assert question.needed == elicit_url("?", "https://x.example").needed
    assert as_question(InputRequest(method="roots/list")).method == "roots/list"
    assert as_question(question) is question


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (InputRequest(method="tools/list"), "the client cannot be asked tools/list"),
        (InputRequest(method="elicitation/create"), "elicitation/create cannot be asked so"),
        (InputRequest(method="sampling/createMessage", params=Raw(b"[]")), "cannot be asked so"),
        ("Who?", "'Who\\?' is no question"),
    ],
    ids=["another method", "no params", "broken params", "no question"],
)
def test_what_is_no_question_is_refused(what: Any, why: str) -> None:
    with pytest.raises((ValueError, TypeError), match=why):
        as_question(what)


def test_options_of_sampling_are_left_out_unless_given() -> None:
    plain = msgspec.to_builtins(params_of("a"))
    assert plain.keys() == {"messages", "maxTokens"}
    tool = Tool(name="t", input_schema={"type": "object"})
    full = params_of(
        "a",
        system_prompt="s",
        temperature=0.0,
        stop_sequences=("x",),
        model_preferences=["big", "small"],
        tools=(tool,),
        tool_choice="none",
        include_context="thisServer",
        metadata={"k": 1},
    )
    assert (full.system_prompt, full.temperature, full.stop_sequences) == ("s", 0.0, ["x"])
    assert full.model_preferences is not UNSET
    assert [hint.name for hint in full.model_preferences.hints or ()] == ["big", "small"]
    assert (full.tools, full.tool_choice) == ([tool], ToolChoice(mode="none"))
    assert (full.include_context, full.metadata) == ("thisServer", {"k": 1})
    preferences = ModelPreferences(cost_priority=1.0)
    assert params_of("a", model_preferences=preferences).model_preferences is preferences


def test_the_digest_tells_questions_apart() -> None:
    same = [elicit("a", {"x": int}).digest for _ in range(2)]
    assert same[0] == same[1]
    different = [
        elicit("a", {"x": int}),
        elicit("b", {"x": int}),
        elicit("a", {"x": str}),
        elicit_url("a", "https://x"),
        sample("a", max_tokens=1),
        sample("a", max_tokens=2),
        list_roots(),
    ]
    assert len({question.digest for question in different}) == len(different)


def test_an_answer_is_read_by_its_shape() -> None:
    assert read_by_shape(raw({"action": "decline"})) == ElicitResult(action="decline")
    assert isinstance(read_by_shape(raw(SAID)), CreateMessageResult)
    assert read_by_shape(raw({"roots": []})) == ListRootsResult(roots=[])
    for nothing in (b"42", b"null", b"{}", b'{"action":"x"}'):
        assert read_by_shape(raw(nothing)) is None

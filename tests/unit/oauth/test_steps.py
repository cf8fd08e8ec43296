import pytest

from wigwag.oauth.requests import HttpResponse, get_request
from wigwag.oauth.secret import Secret
from wigwag.oauth.steps import (
    Answer,
    AskUser,
    Flow,
    ListenForRedirect,
    Load,
    NeedAssertion,
    Save,
    Step,
    ask,
    assertion,
    fetch,
    listen,
    load,
    save,
)


def run(flow: Flow[object], answer: Answer) -> tuple[Step, object]:
    step = next(flow)
    with pytest.raises(StopIteration) as end:
        flow.send(answer)
    return step, end.value.value


QUESTION = AskUser("https://a.example/x?state=s3cret", "https://b.example", "r", "i")
REQUEST = get_request("https://a.example")


@pytest.mark.parametrize(
    ("flow", "step", "answer"),
    [
        (lambda: fetch(REQUEST), REQUEST, HttpResponse(200)),
        (lambda: listen(("a",)), ListenForRedirect(("a",)), "b"),
        (lambda: ask(QUESTION), QUESTION, "?code=1"),
        (lambda: assertion("i"), NeedAssertion("i"), Secret("s")),
        (lambda: load("k"), Load("k"), b"v"),
        (lambda: load("k"), Load("k"), None),
        (lambda: save("k", b"v"), Save("k", b"v"), None),
    ],
)
def test_a_step_is_yielded_and_its_answer_returned(
    flow: type[Flow[object]], step: Step, answer: Answer
) -> None:
    assert run(flow(), answer) == (step, answer)


@pytest.mark.parametrize(
    "flow", [fetch(REQUEST), listen(()), ask(QUESTION), assertion("i"), load("k")]
)
def test_an_answer_to_another_step_is_refused(flow: Flow[object]) -> None:
    next(flow)
    with pytest.raises(TypeError, match="this step is answered with a"):
        flow.send([])  # type: ignore[arg-type]


def test_what_goes_wrong_in_a_step_can_be_thrown_in() -> None:
    flow = fetch(REQUEST)
    next(flow)
    with pytest.raises(ConnectionError):
        flow.throw(ConnectionError())


def test_steps_do_not_show_what_is_secret_in_them() -> None:
    assert repr(QUESTION) == "AskUser('https://a.example/x')"
    assert repr(Save("k", b"secret")) == "Save('k')"
    assert repr(Save("k", None)) == "Save('k', None)"

"""What a peer may know of what a handler raised."""

import asyncio
import logging
import re
import signal
from functools import partial
from typing import Any

import pytest
from msgspec import UNSET

from wigwag.errors import (
    ConnectionClosed,
    LocalProtocolError,
    RequestFailed,
    RequestTimedOut,
    ToolError,
)
from wigwag.jsonrpc.codes import INTERNAL_ERROR
from wigwag.runtime.failures import (
    InvalidOutput,
    deliberate_failure,
    describe_failure,
    log_failure,
    must_pass,
    text_of,
    without_leaving,
)

SECRET = "password=swordfish"


@pytest.mark.parametrize("data", [{"uri": "a://x"}, [1], "text", 0, False, ""])
def test_a_request_that_failed_on_purpose_fails_just_so(
    data: Any, caplog: pytest.LogCaptureFixture
) -> None:
    error = RequestFailed(-32002, "Resource not found", data)
    assert describe_failure(error, "resources/read") == (-32002, "Resource not found", data)
    assert caplog.records == []


def test_a_failure_without_data_has_none() -> None:
    assert describe_failure(RequestFailed(-1, "no"), "x") == (-1, "no", UNSET)


def test_a_tool_error_is_meant_to_be_read(caplog: pytest.LogCaptureFixture) -> None:
    class NoArticle(ToolError):
        pass

    assert describe_failure(NoArticle("none of 7"), "x") == (INTERNAL_ERROR, "none of 7", UNSET)
    assert describe_failure(NoArticle(), "x") == (INTERNAL_ERROR, "NoArticle", UNSET)
    assert caplog.records == []


@pytest.mark.parametrize("side", ["server", "client"])
@pytest.mark.parametrize(
    "error",
    [
        ValueError(SECRET),
        KeyError(SECRET),
        SystemExit(SECRET),
        TimeoutError(SECRET),
        LocalProtocolError(SECRET),
        ConnectionClosed(SECRET),
        RequestTimedOut(SECRET, 1.0, SECRET),
    ],
)
def test_anything_else_is_known_by_a_reference_into_the_log_of_its_side(
    error: BaseException, side: str, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        raise error
    except BaseException as raised:  # noqa: BLE001 - whatever it is
        code, message, data = describe_failure(raised, "prompts/get", side)
    assert (code, data) == (INTERNAL_ERROR, UNSET)
    found = re.fullmatch(
        rf"Internal error \(reference ([0-9a-f]{{8}}) in the {side}'s log\)", message
    )
    assert found is not None
    (record,) = caplog.records
    assert record.name == f"wigwag.{side}"
    assert record.levelno == logging.ERROR
    assert record.getMessage() == f"prompts/get failed (reference {found[1]})"
    assert SECRET in caplog.text
    assert "Traceback" in caplog.text


def test_every_failure_has_a_reference_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    references = {log_failure(ValueError("no"), "x") for _ in range(20)}
    assert len(references) == 20
    assert all(reference in caplog.text for reference in references)


def test_the_log_has_the_causes_too(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        try:
            raise KeyError("the cause")
        except KeyError as error:
            raise ValueError("the effect") from error

    with pytest.raises(ValueError, match="the effect") as caught:
        fail()
    log_failure(caught.value, "x")
    assert "KeyError: 'the cause'" in caplog.text


# --- groups


class Unspeakable(ToolError):
    def __str__(self) -> str:
        raise ValueError("no text")


def test_an_exception_whose_text_cannot_be_had_is_known_by_its_name() -> None:
    assert text_of(Unspeakable()) == "Unspeakable"
    assert text_of(KeyError("a")) == "'a'"
    assert describe_failure(Unspeakable(), "x") == (INTERNAL_ERROR, "Unspeakable", UNSET)


def test_a_lone_surrogate_does_not_keep_a_failure_from_being_told() -> None:
    assert describe_failure(ToolError("a\ud800"), "x") == (INTERNAL_ERROR, "a?", UNSET)
    assert describe_failure(RequestFailed(-1, "a\ud800"), "x") == (-1, "a?", UNSET)


@pytest.mark.parametrize("code", ["x", None, 1.5, True])
def test_a_code_that_is_none_is_an_internal_error(code: Any) -> None:
    assert describe_failure(RequestFailed(code, "no"), "x") == (INTERNAL_ERROR, "no", UNSET)


def test_what_is_meant_to_be_read_is_read_out_of_a_group(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inner = ExceptionGroup("inner", [ToolError("b"), ToolError("a")])
    group = ExceptionGroup("outer", [ToolError("a"), inner])
    found = deliberate_failure(group, "x")
    assert type(found) is ToolError
    assert str(found) == "a; b"
    assert describe_failure(group, "x") == (INTERNAL_ERROR, "a; b", UNSET)
    assert caplog.records == []


def test_a_request_that_failed_on_purpose_comes_before_all_else_in_a_group() -> None:
    refused = RequestFailed(-7, "no", {"a": 1})
    group = BaseExceptionGroup("g", [ToolError("a"), BaseExceptionGroup("h", [refused])])
    assert deliberate_failure(group, "x") is refused
    assert describe_failure(group, "x") == (-7, "no", {"a": 1})


def test_what_else_is_in_a_group_goes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    group = ExceptionGroup("g", [ToolError("full"), ValueError(SECRET)])
    _, message, _ = describe_failure(group, "x")
    found = re.fullmatch(
        r"full; and an internal error \(reference ([0-9a-f]{8}) in the server's log\)", message
    )
    assert found is not None, message
    assert found[1] in caplog.text
    assert SECRET in caplog.text


def test_a_group_without_anything_to_read_is_a_failure_like_any_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    group = ExceptionGroup("g", [ValueError(SECRET)])
    assert deliberate_failure(group, "x") is None
    code, message, _ = describe_failure(group, "x")
    assert code == INTERNAL_ERROR
    assert SECRET not in message
    assert caplog.text.count(SECRET) == 1


@pytest.mark.parametrize("side", ["server", "client"])
def test_what_a_handler_returned_that_cannot_be_sent_is_said(
    side: str, caplog: pytest.LogCaptureFixture
) -> None:
    code, message, data = describe_failure(InvalidOutput("no NaN"), "resources/read", side)
    assert (code, data) == (INTERNAL_ERROR, UNSET)
    found = re.fullmatch(
        rf"resources/read failed: no NaN \(reference ([0-9a-f]{{8}}) in the {side}'s log\)",
        message,
    )
    assert found is not None, message
    assert found[1] in caplog.text


# --- what is no Exception


class Odd(BaseException):
    pass


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "deed"),
    [
        (SystemExit(3), r"called sys\.exit\(3\)"),
        (KeyboardInterrupt(), "raised KeyboardInterrupt"),
        (GeneratorExit(), "raised GeneratorExit"),
        (asyncio.CancelledError(), "raised CancelledError"),
        (Odd(), "raised Odd"),
        (BaseExceptionGroup("g", [SystemExit(3)]), "raised BaseExceptionGroup"),
    ],
)
async def test_a_handler_that_raises_what_is_no_exception_has_failed(
    error: BaseException, deed: str
) -> None:
    async def fail() -> None:
        raise error

    with pytest.raises(RuntimeError, match=f"the handler {deed}") as caught:
        await without_leaving(fail())
    assert caught.value.__cause__ is error


@pytest.mark.anyio
async def test_what_is_meant_to_be_read_is_found_beside_what_is_no_exception() -> None:
    async def fail() -> None:
        raise BaseExceptionGroup("g", [SystemExit(3), ToolError("read this")])

    with pytest.raises(ToolError, match="read this; and an internal error"):
        await without_leaving(fail())


@pytest.mark.anyio
async def test_a_result_is_just_passed_on() -> None:
    async def stay() -> str:
        return "here"

    assert await without_leaving(stay()) == "here"


@pytest.mark.anyio
async def test_a_handler_that_somebody_cancels_is_cancelled() -> None:
    began = asyncio.Event()

    async def wait() -> None:
        began.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(without_leaving(wait()))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.anyio
async def test_a_coroutine_can_be_closed() -> None:
    began: list[int] = []

    class Never:
        def __await__(self) -> Any:
            began.append(1)
            yield

    async def wait() -> None:
        await Never()

    work = without_leaving(wait())
    work.send(None)
    work.close()
    assert began == [1]


def spin() -> None:
    signal.raise_signal(signal.SIGINT)
    for _ in range(1000):
        pass  # the interpreter looks for signals here


def test_a_real_interrupt_passes() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            spin()
    finally:
        signal.signal(signal.SIGINT, before)
    assert must_pass(caught.value)


def test_an_interrupt_by_the_programs_own_way_passes() -> None:
    def on_interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for handler in (on_interrupt, partial(on_interrupt)):
        before = signal.signal(signal.SIGINT, handler)
        try:
            with pytest.raises(KeyboardInterrupt) as caught:
                spin()
            assert must_pass(caught.value)
        finally:
            signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_code_raises_does_not_pass() -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        fail()
    assert not must_pass(caught.value)
    assert must_pass(KeyboardInterrupt())  # raised by nobody yet: who knows


def test_any_other_exception_does_not_pass() -> None:
    for error in (ValueError(), SystemExit(1), Odd(), ExceptionGroup("g", [ValueError()])):
        assert not must_pass(error)


@pytest.mark.anyio
async def test_any_other_exception_of_a_handler_stays_what_it_is() -> None:
    error = KeyError("no")

    async def fail() -> None:
        raise error

    with pytest.raises(KeyError) as caught:
        await without_leaving(fail())
    assert caught.value is error

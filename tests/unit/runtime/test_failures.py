"""What a peer may know of what a handler raised."""

import logging
import re
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
from wigwag.runtime.failures import describe_failure, log_failure, without_leaving

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


@pytest.mark.anyio
async def test_a_handler_that_would_end_the_program_has_failed() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def stay() -> str:
        return "here"

    with pytest.raises(RuntimeError, match=r"the handler called sys\.exit\(3\)") as caught:
        await without_leaving(leave())
    assert isinstance(caught.value.__cause__, SystemExit)
    assert await without_leaving(stay()) == "here"


@pytest.mark.anyio
async def test_any_other_exception_of_a_handler_stays_what_it_is() -> None:
    error = KeyError("no")

    async def fail() -> None:
        raise error

    with pytest.raises(KeyError) as caught:
        await without_leaving(fail())
    assert caught.value is error

"""Tests of where assertions come from."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from wigwag.client.authorization.assertions import (
    MAX_ASSERTION_BYTES,
    EnvironmentAssertion,
    FileAssertion,
    assertion_reader,
)
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.secret import Secret

pytestmark = pytest.mark.anyio

TOKEN = "eyJhbGciOiJub25lIn0.e30.secret"


async def test_a_file_is_read_afresh_each_time(tmp_path: Path) -> None:
    path = tmp_path / "token"
    source = FileAssertion(path)
    for number in range(2):
        path.write_text(f"\ufeff\n {TOKEN}{number} \n", encoding="utf-8")
        assert await source("https://as.example") == Secret(f"{TOKEN}{number}")
    path.write_text(TOKEN)
    assert await assertion_reader(path)("https://as.example") == Secret(TOKEN)
    assert repr(source) == f"FileAssertion({str(path)!r})"


async def test_a_variable_is_read_afresh_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    source = assertion_reader(EnvironmentAssertion("MY_TOKEN"))
    for number in range(2):
        monkeypatch.setenv("MY_TOKEN", f"{TOKEN}{number}\n")
        assert await source("https://as.example") == Secret(f"{TOKEN}{number}")
    assert repr(source) == "EnvironmentAssertion('MY_TOKEN')"


async def said_by(source: Any) -> str:
    with pytest.raises(AuthorizationFailed) as failed:
        await assertion_reader(source)("https://as.example")
    said = str(failed.value)
    assert "secret" not in said
    return said


async def test_a_file_without_a_token_is_named(tmp_path: Path) -> None:
    path = tmp_path / "token"
    assert (
        await said_by(path)
        == f"no assertion can be read from the file {path}: No such file or directory; "
        "see that the platform provides it, and that this is its name"
    )
    path.write_text(" \n")
    assert f"no assertion is in the file {path}: it is empty" in await said_by(path)
    path.write_text("x" * (MAX_ASSERTION_BYTES + 1))
    assert f"it has more than {MAX_ASSERTION_BYTES} bytes" in await said_by(path)
    for text in ("two secrets", "a\nsecret", "\u00e9secret", "a\0secret"):
        path.write_text(text, encoding="utf-8")
        assert "it has characters that no token has" in await said_by(path)
    path.write_bytes(b"\xffsecret")
    assert "it has characters that no token has" in await said_by(path)
    assert "Is a directory" in await said_by(FileAssertion(tmp_path))


async def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_TOKEN", raising=False)
    said = await said_by(EnvironmentAssertion("MY_TOKEN"))
    assert said.startswith("no assertion is in the environment variable MY_TOKEN: it is not set;")


async def test_a_function_may_be_of_either_kind_and_take_the_audience() -> None:
    def plain() -> str:
        assert threading.current_thread() is not threading.main_thread()
        return f"{TOKEN}\n"

    async def waits(audience: str) -> Secret:
        await asyncio.sleep(0)
        return Secret(f"{TOKEN}.{audience}")

    class Source:
        async def __call__(self, audience: str) -> str:
            return audience

    assert await assertion_reader(plain)("a") == Secret(TOKEN)
    assert await assertion_reader(lambda audience: audience)("a") == Secret("a")
    assert await assertion_reader(lambda: waits("a"))("b") == Secret(f"{TOKEN}.a")
    assert await assertion_reader(waits)("a") == Secret(f"{TOKEN}.a")
    assert await assertion_reader(Source())("a") == Secret("a")


async def test_a_function_that_fails_is_named_and_its_error_is_behind_it() -> None:
    def fetch() -> str:
        raise LookupError("secret")

    with pytest.raises(AuthorizationFailed) as failed:
        await assertion_reader(fetch)("a")
    said = str(failed.value)
    assert said.startswith("no assertion came from the function test_a_function_that_fails")
    assert said.endswith("fetch: it raised LookupError; correct the function")
    assert isinstance(failed.value.__cause__, LookupError)
    assert "it returned dict, not a text" in await said_by(lambda: {"secret": 1})


async def test_what_a_function_says_itself_is_passed_on() -> None:
    async def fetch() -> str:
        raise AuthorizationFailed("no network")

    with pytest.raises(AuthorizationFailed, match=r"^no network$"):
        await assertion_reader(fetch)("a")


@pytest.mark.parametrize("source", [TOKEN, None, 7])
def test_a_token_itself_is_no_source(source: Any) -> None:
    with pytest.raises(TypeError, match="an assertion comes from a function") as failed:
        assertion_reader(source)
    assert "secret" not in str(failed.value)

"""Tests of logging in with the browser of this machine."""

import asyncio
import threading
from typing import Any
from urllib.parse import quote

import pytest

from tests.unit.client.authorization.browser import get
from wigwag.client.authorization.browser_login import BrowserLogin, no_answer
from wigwag.client.authorization.loopback_listener import LoopbackListener
from wigwag.errors import AuthorizationFailed, AuthorizationUntrusted
from wigwag.oauth.steps import AskUser

pytestmark = pytest.mark.anyio

STATE = "state-of-this-time"


def question_about(uri: str, url: str | None = None) -> AskUser:
    there = f"https://as.example/authorize?redirect_uri={quote(uri)}&state={STATE}"
    return AskUser(url or there, uri, "https://mcp.example/mcp", "https://as.example")


class Browser:
    """Notes what it is asked to open."""

    def __init__(self, *, outcome: object = True) -> None:
        self.outcome = outcome
        self.opened: list[str] = []
        self.is_open = threading.Event()

    def __call__(self, url: str) -> object:
        assert threading.current_thread() is not threading.main_thread()
        self.opened.append(url)
        self.is_open.set()
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


async def begin(login: BrowserLogin) -> tuple[str, "asyncio.Task[str]"]:
    uri = await login.listen(())
    asking = asyncio.create_task(login.ask(question_about(uri)))
    return uri, asking


async def test_the_browser_is_opened_and_what_it_comes_back_with_is_returned() -> None:
    browser, told = Browser(), list[str]()
    login = BrowserLogin(open_browser=browser, on_url=told.append)
    uri, asking = await begin(login)
    await asyncio.to_thread(browser.is_open.wait)
    await get(f"{uri}?code=abc&state={STATE}")
    assert await asking == f"{uri}?code=abc&state={STATE}"
    assert browser.opened == [question_about(uri).url]
    assert told == [
        "To give access to https://mcp.example/mcp, log in at https://as.example.\n"
        "If no browser comes up, open this URL on this machine:\n\n"
        f"  {question_about(uri).url}\n"
    ]
    await login.aclose()


@pytest.mark.parametrize("outcome", [False, None, RuntimeError("no display")])
async def test_where_no_browser_comes_up_the_url_can_be_opened_by_hand(outcome: Any) -> None:
    is_told = asyncio.Event()
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if len(told) == 2:
            is_told.set()

    login = BrowserLogin(open_browser=Browser(outcome=outcome), on_url=tell)
    uri, asking = await begin(login)
    await is_told.wait()
    assert told[1] == "No browser could be opened.\n"
    await get(f"{uri}?code=abc&state={STATE}")
    assert (await asking).endswith(f"code=abc&state={STATE}")
    await login.aclose()


async def test_the_url_goes_to_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    login = BrowserLogin(open_browser=Browser(), timeout=0.001)
    _, asking = await begin(login)
    with pytest.raises(AuthorizationFailed):
        await asking
    await login.aclose()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"state={STATE}\n" in captured.err


async def test_a_user_who_does_not_come_back_is_waited_for_no_longer_than_allowed() -> None:
    login = BrowserLogin(open_browser=Browser(), on_url=lambda _: None, timeout=0.01)
    uri, asking = await begin(login)
    with pytest.raises(AuthorizationFailed) as failed:
        await asking
    assert str(failed.value) == (
        "no browser came back within 0.01 s (https://as.example); try again to be asked again"
    )
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await get(uri)
    await login.aclose()


async def test_one_who_used_an_old_window_is_told() -> None:
    listener = LoopbackListener()
    uri = await listener.open(())
    assert "another" not in str(no_answer(300.0, question_about(uri), listener))
    await get(f"{uri}?code=abc&state=of-another-time")
    assert str(no_answer(300.0, question_about(uri), listener)) == (
        "no browser came back within 300 s, but another one than was waited for: use the window "
        "that was opened last (https://as.example); try again to be asked again"
    )
    await listener.aclose()


async def test_who_is_cancelled_listens_no_longer_though_the_browser_has_not_come_up() -> None:
    may_end = threading.Event()
    login = BrowserLogin(open_browser=lambda _: may_end.wait(), on_url=lambda _: None)
    uri, asking = await begin(login)
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await login.aclose()
    await login.aclose()
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await get(uri)
    may_end.set()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)"])
async def test_nothing_but_a_page_is_opened_or_told(url: str) -> None:
    browser, told = Browser(), list[str]()
    login = BrowserLogin(open_browser=browser, on_url=told.append)
    uri = await login.listen(())
    with pytest.raises(AuthorizationUntrusted):
        await login.ask(question_about(uri, url))
    assert (browser.opened, told) == ([], [])
    await login.aclose()


def test_only_this_machine_is_listened_at() -> None:
    for host in ("0.0.0.0", "192.168.0.1", "as.example", "::"):
        with pytest.raises(ValueError, match="is not this machine"):
            BrowserLogin(host=host)
    BrowserLogin(host="::1")
    BrowserLogin(host="localhost")

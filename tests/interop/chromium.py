"""A real Chromium without a window, in which a user logs in and agrees to what is asked."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.interop import catalogue, services

PAGE_SECONDS: Final = 30
MAX_PAGES: Final = 5
# Pages may want fonts from the network, and nothing is to wait for them.
NO_NETWORK: Final = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"

# What a user does with a page: gives a name and a password, agrees or not, or else is done.
ACT: Final = """((name, refuses) => {
    const button = document.querySelector('form [type=submit]');
    if (!button) return false;
    const fields = document.querySelectorAll('[name=login], [name=password]');
    for (const field of fields) field.value = name;
    (refuses ? document.querySelector('a[href$=abort]') : button).click();
    return true;
})"""


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Runs Chromium with a profile of its own while the block runs; gives where it is driven."""
    program, environ = catalogue.chromium()
    assert program is not None
    command = [
        program,
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        f"--host-resolver-rules={NO_NETWORK}",
        "--headless",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        # Not every machine lets it have one, and all the pages are ours.
        "--no-sandbox",
        "about:blank",
    ]
    with services.running(command, environ, announces=r"ws://\S+") as (_, url):
        yield url


class Window:
    """A window with one page after the other.

    Attributes:
        complaints: What went wrong in its pages, in those that were visited.
    """

    def __init__(self, session: str) -> None:
        self.session = session
        self.loaded: asyncio.Queue[str] = asyncio.Queue()
        self.page = ""
        self.complaints: list[str] = []


class User:
    """Somebody with windows that nobody else uses: at first not logged in anywhere.

    Attributes:
        name: Who they say that they are.
        refuses: Whether they do not agree to anything.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, name: str) -> None:
        self.name = name
        self.refuses = False
        self._socket = socket
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._windows: dict[str, Window] = {}
        self._context: str | None = None

    async def log_in(self, url: str) -> list[str]:
        """Goes to a URL, does what its pages ask for, and returns the text of each page."""
        window = await self._open_window()
        result = await self._do("Page.navigate", window.session, url=url)
        assert "errorText" not in result, result
        pages: list[str] = []
        while len(pages) < MAX_PAGES:
            await self._next_page(window)
            pages.append(await self._evaluate(window, "document.body.innerText"))
            if not await self._evaluate(
                window, f"{ACT}(...{json.dumps([self.name, self.refuses])})"
            ):
                return pages
        raise AssertionError(f"it is asked for more and more: {pages}")

    async def visit(self, url: str, *, scheme: str = "light", height: int = 900) -> Window:
        """Goes to a URL, and returns the window once the page has loaded.

        Args:
            url: The page.
            scheme: Whether the user likes pages `light` or `dark`.
            height: That of the screen.
        """
        window = await self._open_window()
        await self._do("Runtime.enable", window.session)
        await self._do("Log.enable", window.session)
        likes = [{"name": "prefers-color-scheme", "value": scheme}]
        await self._do("Emulation.setEmulatedMedia", window.session, features=likes)
        screen = {"width": 1280, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self._do("Emulation.setDeviceMetricsOverride", window.session, **screen)
        result = await self._do("Page.navigate", window.session, url=url)
        assert "errorText" not in result, result
        await self._next_page(window)
        return window

    async def evaluate(self, window: Window, expression: str) -> Any:
        """Runs JavaScript in a page, and returns what comes of it, which is waited for."""
        return await self._evaluate(window, expression)

    async def press(self, window: Window, *keys: str) -> None:
        """Presses keys, one after the other: letters, or keys such as `Enter`."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            for kind in ("keyDown", "keyUp"):
                await self._do("Input.dispatchKeyEvent", window.session, type=kind, key=key, **text)

    async def type(self, window: Window, text: str) -> None:
        """Types text where the cursor is."""
        await self._do("Input.insertText", window.session, text=text)

    async def _open_window(self) -> Window:
        if self._context is None:
            created = await self._do("Target.createBrowserContext", disposeOnDetach=True)
            self._context = created["browserContextId"]
        target = await self._do(
            "Target.createTarget", url="about:blank", browserContextId=self._context
        )
        attached = await self._do(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        window = Window(attached["sessionId"])
        self._windows[window.session] = window
        await self._do("Page.enable", window.session)
        await self._do("Page.setLifecycleEventsEnabled", window.session, enabled=True)
        tree = await self._do("Page.getFrameTree", window.session)
        window.page = tree["frameTree"]["frame"]["loaderId"]
        return window

    async def _next_page(self, window: Window) -> None:
        """Waits until another page than the last one has loaded."""
        async with asyncio.timeout(PAGE_SECONDS):
            while (page := await window.loaded.get()) == window.page:
                pass
        window.page = page

    async def _evaluate(self, window: Window, expression: str) -> Any:
        result = await self._do(
            "Runtime.evaluate",
            window.session,
            expression=expression,
            userGesture=True,
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def _do(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json(message)
        return await asyncio.wait_for(answer, PAGE_SECONDS)

    async def listen(self) -> None:
        """Takes what the browser says, until it is left."""
        async for message in self._socket:
            said = json.loads(message.data)
            if said.get("method") == "Page.lifecycleEvent" and said["params"]["name"] == "load":
                self._windows[said["sessionId"]].loaded.put_nowait(said["params"]["loaderId"])
            elif said.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self._windows[said["sessionId"]].complaints.append(json.dumps(said["params"]))
            elif (answer := self._answers.pop(said.get("id"), None)) is not None:
                if "error" in said:
                    answer.set_exception(AssertionError(f"the browser says {said['error']}"))
                else:
                    answer.set_result(said["result"])


@asynccontextmanager
async def used_by(name: str, url: str) -> AsyncIterator[User]:
    """Somebody who uses the browser that is driven at a URL."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, max_msg_size=0) as socket,
    ):
        user = User(socket, name)
        listening = asyncio.create_task(user.listen())
        try:
            yield user
        finally:
            listening.cancel()
            await asyncio.wait([listening])

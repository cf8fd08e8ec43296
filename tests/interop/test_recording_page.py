"""The page of a recording in a real browser: it renders, finds, unfolds, and nothing in it runs."""

import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop import chromium
from tests.interop.catalogue import chromium as program_of_chromium
from tests.unit.tracing.recordings import Told
from wigwag.tracing.html_page import recording_page
from wigwag.tracing.records import JunkRecord, StderrRecord

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(program_of_chromium()[0] is None, reason="there is no Chromium here"),
]

MESSAGES: Final = 10_000
# What a person waits for without wondering; a busy machine has its time.
SECONDS: Final = 20
# A screen on which all of a short conversation is in sight, unfolded.
TALL: Final = 4000

# Waits until something is so, and tells whether it ever was.
WAIT: Final = """
const until = async (isSo) => {
    const end = performance.now() + 20000;
    while (!isSo() && performance.now() < end) await new Promise(requestAnimationFrame);
    return isSo();
};
"""

# The contrast between text and what is behind it, as WCAG has it; the lowest of all that is shown.
LOWEST_CONTRAST: Final = """(() => {
    const channels = (color) => {
        const drawn = new OffscreenCanvas(1, 1).getContext("2d");
        drawn.fillStyle = color;
        drawn.fillRect(0, 0, 1, 1);
        return [...drawn.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => [r, g, b]
        .map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const color = channels(getComputedStyle(each).backgroundColor);
            if (color[3] === 255) return color;
        }
        return [255, 255, 255, 255];
    };
    let lowest = [99, ""];
    for (const element of document.querySelectorAll("header *, .row *")) {
        const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!own || element.disabled || !element.offsetParent) continue;
        const one = light(channels(getComputedStyle(element).color));
        const other = light(behind(element));
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (contrast < lowest[0]) lowest = [contrast, element.className + ": " + element.innerText];
    }
    return lowest;
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with chromium.running(tmp_path_factory.mktemp("chromium")) as url:
        yield url


@pytest.fixture
async def user(browser: str) -> AsyncIterator[chromium.User]:
    async with chromium.used_by("reader", browser) as user:
        yield user


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[[Told], str]:
    def write(told: Told) -> str:
        page = tmp_path / "page.html"
        page.write_text(recording_page(told.recording), encoding="utf-8")
        return page.as_uri()

    return write


def long_talk() -> Told:
    told = Told()
    told.greets()
    while len(told.records) < MESSAGES - 1:
        number = len(told.records)
        arguments = {"word": f"needle-{number}", "limit": number, "note": "straw " * 40}
        told.asks(number, "tools/call", {"name": "search", "arguments": arguments})
        told.now -= 0.995
        if number % 501 == 0:
            told.refuses(number, -32603, f"Internal error {number}")
        else:
            told.answers(number, {"content": [{"type": "text", "text": f"found {number}"}]})
        told.now -= 0.98
    told.asks("last", "ping")
    return told


def short_talk() -> Told:
    told = Told(target=["python", "<img src=x onerror=hacked=1>"])
    told.greets()
    told.asks(1, "tools/call", {"name": "add", "arguments": {"a": 1}})
    told.refuses(1, -32602, "</script><script>hacked=1</script>\x1b[2J\u202e")
    told.records.append(
        JunkRecord(at=told.tick(), sender="server", text='{"<svg onload=hacked=1>": {"code": 7}}')
    )
    told.records.append(StderrRecord(at=told.tick(), text="warning: <b>bold</b>"))
    told.asks(2, "tools/call", {"name": "picture", "arguments": {}})
    told.tick()
    pixel = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
        "rkJggg=="
    )
    picture = {"type": "image", "data": pixel, "mimeType": "image/png"}
    evil = {"type": "image", "data": 'x" onerror="hacked=1', "mimeType": "image/png"}
    told.says(
        "server",
        b'{"jsonrpc":"2.0","id":2,"result":{"big":12345678901234567890,"content":%b}}'
        % json.dumps([picture, evil]).encode(),
    )
    told.asks(3, "prompts/get", {"name": "x"})
    told.ends(1)
    return told


async def test_ten_thousand_messages_stay_usable(
    user: chromium.User, page_of: Callable[[Told], str], record_property: Callable[..., None]
) -> None:
    told = long_talk()
    assert len(told.records) >= MESSAGES
    begun = time.monotonic()
    window = await user.visit(page_of(told))
    rows = await user.evaluate(window, "document.querySelectorAll('.row').length")
    record_property("seconds to render", time.monotonic() - begun)
    assert time.monotonic() - begun < SECONDS
    # Only what is in sight is there.
    assert 5 < rows < 150

    sought = f"needle-{MESSAGES - 2001}"
    begun = time.monotonic()
    await user.press(window, "/")
    await user.type(window, sought)
    found = await user.evaluate(
        window,
        f"(async () => {{ {WAIT} await until(() => document.querySelector('.row.now mark'));"
        " const row = document.querySelector('.row.now'); const box = row.getBoundingClientRect();"
        " return [document.getElementById('found').textContent, row.innerText,"
        "  box.top >= 0 && box.bottom <= innerHeight]; })()",
    )
    record_property("seconds to find", time.monotonic() - begun)
    assert time.monotonic() - begun < SECONDS
    assert found[0] == "1 of 1"
    assert sought in found[1]
    assert found[2], "what was found is not in sight"

    await user.press(window, "Escape", "Escape", "G")
    last = await user.evaluate(
        window,
        f"(async () => {{ {WAIT} await until(() => document.querySelector('.row.chosen .took'"
        ").textContent); return document.querySelector('.row.chosen').innerText; })()",
    )
    assert "ping" in last
    assert "no answer" in last
    assert await user.evaluate(window, "document.querySelectorAll('.row').length") < 150
    assert window.complaints == []


async def test_messages_unfold_and_keys_lead_from_a_request_to_its_answer(
    user: chromium.User, page_of: Callable[[Told], str]
) -> None:
    window = await user.visit(page_of(short_talk()), height=TALL)
    chosen = "document.querySelector('.row.chosen').innerText"
    await user.press(window, "e")
    assert "-32602" in await user.evaluate(window, chosen)
    await user.press(window, "p", "Enter")
    unfolded = await user.evaluate(window, chosen)
    assert 'name: "add"' in unfolded
    assert (
        await user.evaluate(
            window, "document.querySelector('.row.chosen').getAttribute('aria-expanded')"
        )
        == "true"
    )
    await user.press(window, "Enter")
    assert 'name: "add"' not in await user.evaluate(window, chosen)
    await user.press(window, "g", "j", "j", "j", "j", "j", "Enter")
    assert (
        await user.evaluate(
            window,
            "[...document.querySelectorAll('.row.chosen .tree button')]"
            ".find((each) => each.innerText === 'as JSON').click()",
        )
        is None
    )
    assert "code: 7" in await user.evaluate(window, chosen)
    await user.press(window, "E")
    everything = await user.evaluate(window, "document.getElementById('sheet').innerText")
    assert "12345678901234567890" in everything
    # Characters that move the cursor or turn the reading direction are shown, not obeyed.
    assert "\u241b[2J\u2039U+202E\u203a" in everything
    assert window.complaints == []


async def test_nothing_that_was_said_can_run_or_load_anything(
    user: chromium.User, page_of: Callable[[Told], str]
) -> None:
    window = await user.visit(page_of(short_talk()), height=TALL)
    await user.press(window, "E")
    seen = await user.evaluate(
        window,
        "[typeof hacked, document.querySelectorAll('#sheet script, #sheet b, #sheet svg').length,"
        " document.querySelectorAll('#sheet img').length,"
        " performance.getEntriesByType('resource').filter((e) => !e.name.startsWith('data:'))"
        ".length]",
    )
    assert seen == ["undefined", 0, 1, 0]
    assert window.complaints == []


async def test_filters_leave_out_what_is_not_wanted_and_a_match_brings_it_back(
    user: chromium.User, page_of: Callable[[Told], str]
) -> None:
    window = await user.visit(page_of(short_talk()), height=TALL)
    count = "document.querySelectorAll('.row').length"
    before = await user.evaluate(window, count)
    await user.evaluate(window, "document.querySelector('[data-kind=failed]').click()")
    # An error, what is no message, a request without an answer, and the bad end.
    assert await user.evaluate(window, count) == 4
    await user.evaluate(window, "document.querySelector('[data-kind=failed]').click()")
    await user.press(window, "/")
    await user.type(window, "picture")
    await user.evaluate(
        window,
        f"(async () => {{ {WAIT} await until(() => document.querySelector('.row.now'));"
        " document.getElementById('only').click(); })()",
    )
    assert await user.evaluate(window, count) == 1
    await user.press(window, "Escape")
    assert await user.evaluate(window, count) == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_all_text_can_be_read_in_light_and_in_dark(
    user: chromium.User, page_of: Callable[[Told], str], scheme: str
) -> None:
    window = await user.visit(page_of(short_talk()), scheme=scheme, height=TALL)
    await user.press(window, "E")
    assert await user.evaluate(window, "document.documentElement.dataset.theme") == scheme
    contrast, where = await user.evaluate(window, LOWEST_CONTRAST)
    assert contrast >= 4.5, where
    await user.press(window, "t", "t")
    other = await user.evaluate(window, "document.documentElement.dataset.theme")
    assert other == "dark", "auto, light, dark"

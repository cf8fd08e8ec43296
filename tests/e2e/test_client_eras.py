"""The client against servers that do not know the modern era, or only just: real programs.

Spec: basic/versioning
"""

from pathlib import Path

import pytest

from tests.e2e.host import PATIENCE, SERVERS, python_command
from wigwag import Client, ServerStartFailed, StdioServerParameters
from wigwag.client.link import Timeouts
from wigwag.errors import RemoteProtocolError

pytestmark = pytest.mark.anyio

BY_HAND = SERVERS / "by_hand.py"
TIMEOUTS = Timeouts(request=PATIENCE, connect=PATIENCE, probe=PATIENCE)
IMPATIENT = Timeouts(request=PATIENCE, connect=PATIENCE, probe=0.3)

BROKEN = pytest.mark.broken_messages("server")
LEGACY_DIALOGUE = ["initialize", "notifications/initialized", "tools/list", "tools/call"]


class Diary:
    """What a server by hand has noted down."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def starts(self) -> list[list[str]]:
        """Return the methods that were received, for each start of the server."""
        starts: list[list[str]] = []
        for line in self.path.read_text().splitlines():
            if line == "started":
                starts.append([])
            else:
                starts[-1].append(line)
        return starts


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


def client_of(
    oddity: str, diary: Diary, *, timeouts: Timeouts = TIMEOUTS, mode: str = "auto"
) -> Client:
    program, *args = python_command(BY_HAND, oddity, diary.path)
    server = StdioServerParameters(command=program, args=args, exit_timeout=0.3)
    return Client(server, timeouts=timeouts, mode=mode)


async def use(client: Client) -> None:
    """List the tools and call the one there is."""
    assert [tool.name for tool in (await client.list_tools()).tools] == ["hello"]
    result = await client.call_tool("hello")
    assert getattr(result.content[0], "text", None) == "hello"


@pytest.mark.parametrize(
    "oddity",
    [
        "-32601",
        "-32602",
        "-32600",
        "-32000",
        "-32603",
        "-1",
        pytest.param("null id", marks=BROKEN),
        "no id",
        pytest.param("empty", marks=BROKEN),
        pytest.param("wrong", marks=BROKEN),
        pytest.param("noisy", marks=BROKEN),
        "unsupported, legacy",
    ],
)
async def test_whatever_a_legacy_server_answers_to_the_probe_the_handshake_follows(
    diary: Diary, oddity: str
) -> None:
    async with client_of(oddity, diary) as client:
        assert client.protocol_version == "2025-11-25"
        await use(client)
    assert diary.starts() == [["server/discover", *LEGACY_DIALOGUE]]


async def test_silence_is_an_answer_too(diary: Diary) -> None:
    async with client_of("silent", diary, timeouts=IMPATIENT) as client:
        assert client.protocol_version == "2025-11-25"
        await use(client)
    assert diary.starts() == [["server/discover", *LEGACY_DIALOGUE]]


async def test_a_slow_server_that_answers_the_probe_late_is_understood(diary: Diary) -> None:
    async with client_of("slow", diary, timeouts=IMPATIENT) as client:
        assert client.protocol_version == "2025-11-25"
        await use(client)
    assert diary.starts() == [["server/discover", *LEGACY_DIALOGUE]]


@pytest.mark.parametrize("oddity", ["dies", "closes"])
async def test_a_server_that_dies_of_the_probe_is_started_once_more_and_greeted(
    diary: Diary, oddity: str
) -> None:
    async with client_of(oddity, diary) as client:
        assert client.protocol_version == "2025-11-25"
        await use(client)
    assert diary.starts() == [["server/discover"], LEGACY_DIALOGUE]


async def test_a_server_that_dies_of_everything_is_not_started_a_third_time(diary: Diary) -> None:
    with pytest.raises(ServerStartFailed) as caught:
        await client_of("dies anyway", diary).connect()
    assert caught.value.exit_code == 3
    assert caught.value.stderr == "line 1\nline 2: no configuration ✓"
    assert diary.starts() == [["server/discover", "initialize"]]


async def test_the_era_is_remembered_for_the_next_connection(diary: Diary) -> None:
    client = client_of("silent", diary, timeouts=IMPATIENT)
    for _ in range(2):
        async with client:
            await use(client)
    assert diary.starts() == [["server/discover", *LEGACY_DIALOGUE], LEGACY_DIALOGUE]


async def test_an_unsupported_version_error_that_names_ours_is_answered_in_kind(
    diary: Diary,
) -> None:
    async with client_of("unsupported once", diary) as client:
        assert client.protocol_version == "2026-07-28"
        await use(client)
    # Never `initialize`: only a server of the modern era knows this error.
    assert diary.starts() == [["server/discover", "server/discover", "tools/list", "tools/call"]]


async def test_a_modern_server_is_never_greeted(diary: Diary) -> None:
    async with client_of("modern", diary) as client:
        assert client.protocol_version == "2026-07-28"
        await use(client)
    assert diary.starts() == [["server/discover", "tools/list", "tools/call"]]


async def test_a_client_that_insists_on_legacy_does_not_probe(diary: Diary) -> None:
    async with client_of("modern", diary, mode="legacy") as client:
        assert client.protocol_version == "2025-11-25"
    assert diary.starts() == [["initialize", "notifications/initialized"]]


async def test_a_client_that_insists_on_modern_says_that_the_server_is_not(diary: Diary) -> None:
    with pytest.raises(RemoteProtocolError, match="2026-07-28"):
        await client_of("-32601", diary, mode="modern").connect()
    assert diary.starts() == [["server/discover"]]

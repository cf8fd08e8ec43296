"""The tours of `peers/contract.py`: who makes them, to whom, on what; each is made once."""

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from tests.interop import catalogue, conversation, our_client, services
from tests.interop.conversation import MODERN, Exchange, Record, Sender

Channel = Literal["stdio", "http", "sse"]

TOUR_SECONDS: Final = 120
OLDER: Final = ("2025-06-18", "2025-03-26", "2024-11-05")
"""The legacy revisions besides the newest."""


@dataclass(frozen=True)
class Run:
    """One tour to be made: a peer's client of our server, or ours of a peer's server.

    Attributes:
        ours: Which end is Wigwag's.
        era: `auto`, `modern`, `legacy`, or a legacy revision.
        channel: `http` is Streamable HTTP, `sse` the HTTP+SSE of 2024-11-05.
    """

    ours: Sender
    peer: catalogue.Peer
    era: str
    channel: Channel = "stdio"

    def __str__(self) -> str:
        return f"{self.peer.name}-{self.era}-{self.channel}"

    @property
    def is_modern(self) -> bool:
        """Whether the two ends will speak the modern revision."""
        return (
            self.era in ("auto", "modern") and self.channel != "sse" and "modern" in self.peer.eras
        )

    @property
    def revision(self) -> str:
        """The revision that they will speak."""
        if self.is_modern:
            return MODERN
        return self.era if self.era in OLDER else "2025-11-25"


@dataclass(frozen=True, kw_only=True)
class Tour:
    """What the client saw on its tour, and what crossed meanwhile."""

    run: Run
    report: dict[str, Any]
    conversations: list[list[Record]]
    exchanges: list[Exchange]

    @property
    def peer(self) -> catalogue.Peer:
        """Whose client or server it was."""
        return self.run.peer

    @property
    def is_modern(self) -> bool:
        """Whether the tour was made in the modern era."""
        return self.run.is_modern

    @property
    def messages(self) -> list[Record]:
        """Every message, of every process that the client launched."""
        return [record for records in self.conversations for record in records]

    def sent(self, sender: Sender) -> list[Record]:
        """The messages of one side."""
        return [record for record in self.messages if record.sender == sender]

    def __getitem__(self, step: str) -> Any:
        return self.report[step]


CLIENT_RUNS: Final = (
    *(Run("server", peer, era) for peer in catalogue.SDKS for era in peer.eras),
    *(Run("server", peer, era, "http") for peer in catalogue.SDKS for era in peer.eras),
    *(Run("server", peer, "legacy", "sse") for peer in catalogue.SDKS),
    # Two SDKs can be brought to offer what they have learnt to speak earlier.
    *(
        Run("server", peer, revision, "sse" if revision == "2024-11-05" else "http")
        for peer in catalogue.SDKS
        if peer.name in ("mcp1", "tsv1")
        for revision in OLDER
    ),
)
"""The tours that clients of others make of our server."""

SERVER_RUNS: Final = (
    *(
        Run("client", peer, era, channel)
        for channel in ("stdio", "http")
        for peer in catalogue.SDKS
        for era in ("auto", "modern", "legacy")
        if era == "auto" or era in peer.eras
    ),
    # The second TypeScript SDK has no server for it.
    *(Run("client", peer, "auto", "sse") for peer in catalogue.SDKS if peer.name != "tsv2"),
)
"""The tours that our client makes of servers of others."""

_made: dict[Run, Future[Tour]] = {}


def make(runs: Iterable[Run]) -> None:
    """Makes tours, two at a time; `of` gives what came of them."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        for run in runs:
            _made[run] = pool.submit(_of_our_server if run.ours == "server" else _of_theirs, run)


def of(run: Run) -> Tour:
    """A tour that was made.

    Raises:
        AssertionError: It could not be made; the text says why.
    """
    return _made[run].result()


def _of_our_server(run: Run) -> Tour:
    with tempfile.TemporaryDirectory() as folder:
        tap = Path(folder)
        if run.channel == "stdio":
            command = run.peer.client(run.era, catalogue.tapped(tap, catalogue.OURS))
            return _told(run, _report(run.peer, command), tap)
        with services.ours() as url, services.tapped(tap, url) as before:
            if run.channel == "sse":
                before = before.removesuffix("/mcp") + "/sse"
            report = _report(run.peer, run.peer.http_client(run.era, before))
        return _told(run, report, tap)


def _report(peer: catalogue.Peer, command: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TOUR_SECONDS,
        env={**os.environ, **peer.environ},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _of_theirs(run: Run) -> Tour:
    peer = run.peer
    with tempfile.TemporaryDirectory() as folder:
        tap = Path(folder)
        if run.channel == "stdio":
            server = catalogue.tapped(tap, peer.server)
            report = asyncio.run(our_client.tour(server, run.era, env=peer.environ))
            return _told(run, report, tap)
        kind = "sse" if run.channel == "sse" else "plain"
        with (
            services.running(peer.http_server(kind), peer.environ) as (_, url),
            services.tapped(tap, url) as before,
        ):
            report = asyncio.run(our_client.tour(before, run.era))
        return _told(run, report, tap)


def _told(run: Run, report: dict[str, Any], tap: Path) -> Tour:
    conversations = conversation.read(tap)
    if run.channel == "sse":
        # What came before, if anything, was asked in vain, of an address that takes no messages.
        [records] = conversations
        starts = [
            n for n, record in enumerate(records) if record.message.get("method") == "initialize"
        ]
        conversations = [records[: starts[-1]], records[starts[-1] :]]
    return Tour(
        run=run,
        report=report,
        conversations=conversations,
        exchanges=conversation.read_exchanges(tap),
    )

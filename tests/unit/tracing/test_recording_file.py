"""Where recordings go."""

import os
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import wigwag
from tests.e2e.host import PATIENCE
from tests.unit.tracing.recordings import Told
from wigwag.tracing.recording_file import keep_recording, open_recording, trace_header
from wigwag.tracing.records import EndRecord, JunkRecord, MessageRecord, read_recording
from wigwag.tracing.redaction import REDACTED, Redaction


def test_a_recording_is_for_its_user_alone(tmp_path: Path) -> None:
    with open_recording(tmp_path / "trace.jsonl") as file:
        file.write(b"one")
    assert (tmp_path / "trace.jsonl").read_bytes() == b"one"
    assert (tmp_path / "trace.jsonl").stat().st_mode & 0o777 == 0o600


def test_what_was_recorded_before_is_kept_under_a_number(tmp_path: Path) -> None:
    for text in (b"one", b"two", b"three"):
        with open_recording(tmp_path / "trace.jsonl") as file:
            file.write(text)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert kept == {"trace.jsonl": b"three", "trace.2.jsonl": b"two", "trace.1.jsonl": b"one"}


def test_one_that_is_still_written_goes_on_under_its_number(tmp_path: Path) -> None:
    with open_recording(tmp_path / "trace.jsonl") as first:
        first.write(b"one")
        with open_recording(tmp_path / "trace.jsonl") as second:
            second.write(b"two")
            first.write(b" more")
    assert (tmp_path / "trace.1.jsonl").read_bytes() == b"one more"
    assert (tmp_path / "trace.jsonl").read_bytes() == b"two"


def test_a_device_is_no_recording_to_keep() -> None:
    with open_recording(os.devnull) as file:
        file.write(b"one")
    assert Path(os.devnull).exists()


def test_a_link_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to("trace.jsonl")
    for text in (b"one", b"two"):
        with open_recording(link) as file:
            file.write(text)
    assert link.is_symlink()
    assert link.read_bytes() == b"two"
    assert (tmp_path / "trace.1.jsonl").read_bytes() == b"one"


def test_the_first_line_says_what_was_recorded_when_and_by_what() -> None:
    started = datetime(2026, 11, 30, 21, 0, 0, 123456, timezone(timedelta(hours=1)))
    header = trace_header("stdio", ["python", "server.py"], started)
    assert header.started == "2026-11-30T20:00:00.123Z"
    assert (header.version, header.wigwag) == (1, wigwag.__version__)
    assert (header.transport, header.target) == ("stdio", ["python", "server.py"])


def test_no_recording_is_lost_where_hosts_start_several_servers_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(4)

    def record(text: bytes) -> None:
        together.wait(PATIENCE)
        for _ in range(20):
            with open_recording(tmp_path / "trace.jsonl") as file:
                file.write(text)

    threads = [threading.Thread(target=record, args=(b"%d" % number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    kept = sorted(path.read_bytes() for path in tmp_path.iterdir() if path.stat().st_size)
    assert kept == sorted([b"0", b"1", b"2", b"3"] * 20)


def test_a_recording_without_a_file_is_kept_line_by_line_and_without_secrets(
    tmp_path: Path,
) -> None:
    told = Told()
    told.says("server", b'{"jsonrpc": "2.0",\r\n "id": 1, "result": {"token": "k-1"}}')
    told.records.append(JunkRecord(at=2.0, sender="server", text="API_KEY=k-2"))
    told.ends()
    keep_recording(tmp_path / "trace.jsonl", told.recording, Redaction())
    message, junk, end = read_recording(tmp_path / "trace.jsonl").records
    assert isinstance(message, MessageRecord)
    assert message.decode()["result"] == {"token": REDACTED}
    assert junk == JunkRecord(at=2.0, sender="server", text=f"API_KEY={REDACTED}")
    assert isinstance(end, EndRecord)

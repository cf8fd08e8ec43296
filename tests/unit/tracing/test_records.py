"""The file of a recording."""

import io
import json
from pathlib import Path

import pytest
from msgspec import Raw

from wigwag.tracing.records import (
    ClosedRecord,
    EndRecord,
    HttpPart,
    HttpRecord,
    JunkRecord,
    MessageRecord,
    Record,
    RecordingError,
    RecordWriter,
    StderrRecord,
    TraceHeader,
    read_recording,
)

HEADER = TraceHeader(
    started="2026-11-30T20:00:00.000Z",
    wigwag="1.0",
    transport="stdio",
    target=["python", "server.py"],
)
PING = Raw(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
RECORDS: list[Record] = [
    MessageRecord(at=0.5, sender="client", message=PING),
    JunkRecord(at=0.6, sender="server", text="Starting…", reason="no JSON"),
    StderrRecord(at=0.7, text="ready"),
    HttpRecord(at=0.8, sender="server", connection=3, http=HttpPart(status=202)),
    ClosedRecord(at=0.9, sender="client"),
    EndRecord(at=1.0, exit_code=0),
]


def written(records: list[Record] = RECORDS) -> bytes:
    file = io.BytesIO()
    writer = RecordWriter(file, HEADER)
    for record in records:
        writer.write(record)
    return file.getvalue()


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(written())
    recording = read_recording(path)
    assert recording.header == HEADER
    assert recording.records == RECORDS
    assert recording.is_complete


def test_each_line_is_what_the_page_says() -> None:
    lines = [json.loads(line) for line in written().splitlines()]
    assert lines[0] == {
        "kind": "trace",
        "version": 1,
        "started": "2026-11-30T20:00:00.000Z",
        "wigwag": "1.0",
        "transport": "stdio",
        "target": ["python", "server.py"],
    }
    assert lines[1] == {
        "kind": "message",
        "at": 0.5,
        "from": "client",
        "message": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    }
    assert lines[4] == {
        "kind": "http",
        "at": 0.8,
        "from": "server",
        "connection": 3,
        "http": {"status": 202},
    }
    assert lines[-1] == {"kind": "end", "at": 1.0, "exit_code": 0}


def test_a_message_keeps_its_blanks_and_the_order_of_its_members() -> None:
    assert b'"message":{"jsonrpc": "2.0", "id": 1, "method": "ping"}' in written()


def test_a_recording_that_was_broken_off_is_read_up_to_there() -> None:
    torn = written()[:-10]
    recording = read_recording(io.BytesIO(torn))
    assert recording.records == RECORDS[:-1]
    assert not recording.is_complete


def test_lines_of_later_versions_and_empty_ones_are_left_out() -> None:
    more = written() + b'{"kind":"weather","at":2.0,"sun":true}\n\n'
    assert read_recording(io.BytesIO(more)).records == RECORDS


def test_a_broken_line_is_named() -> None:
    broken = written(RECORDS[:1]) + b'{"kind":"message","at":"noon"}\n'
    with pytest.raises(RecordingError, match=r"the input, line 3: Expected `float`, got `str`"):
        read_recording(io.BytesIO(broken))
    with pytest.raises(RecordingError, match=r"the input, line 3: JSON is malformed"):
        read_recording(io.BytesIO(written(RECORDS[:1]) + b"{not json}\n"))


@pytest.mark.parametrize("content", [b'{"jsonrpc":"2.0"}\n', b"hello\n", b"\xff\xfe\n"])
def test_another_file_is_no_recording(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.txt"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"other\.txt is no recording of `wigwag trace`"):
        read_recording(path)


def test_an_empty_file_is_no_recording() -> None:
    with pytest.raises(RecordingError, match="the input is empty"):
        read_recording(io.BytesIO(b"\n"))


def test_a_format_of_the_future_is_refused_with_advice() -> None:
    later = written().replace(b'"version":1', b'"version":2')
    with pytest.raises(RecordingError, match=r"format 2, made by wigwag 1\.0.*upgrade wigwag"):
        read_recording(io.BytesIO(later))


class _OneByteAtATime(io.BytesIO):
    def write(self, data: memoryview) -> int:  # type: ignore[override]
        return super().write(data[:1])


def test_a_line_is_written_whole_though_the_system_takes_it_in_pieces() -> None:
    file = _OneByteAtATime()
    RecordWriter(file, HEADER).write(RECORDS[0])
    assert file.getvalue() == written(RECORDS[:1])


def test_a_number_may_have_more_digits_than_python_takes() -> None:
    def said(digits: bytes) -> float:
        record = MessageRecord(at=0.0, sender="server", message=Raw(b'{"n":%b}' % digits))
        n: float = record.decode()["n"]
        return n

    assert said(b"9" * 30) == int("9" * 30)
    assert said(b"9" * 5000) == float("inf")

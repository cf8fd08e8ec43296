"""Server-sent events are the same however their bytes were chunked, and as the standard says."""

import re
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wigwag.bindings.lines import LineTooLong
from wigwag.bindings.sse import SseDecoder, SseEvent, encode_event

streams = st.lists(
    st.sampled_from(
        [b"\n", b"\r", b"\r\n", b"data:", b"data: ", b"data", b"id:", b"id: 7", b"event: ping",
         b":", b"retry: 20", b"retry:x", b"{}", b" ", b"\0", b"\xef\xbb\xbf", b"\xe2\x80\xa8",
         b"\x85"]
    )
    | st.binary(max_size=6),
    max_size=40,
).map(b"".join)  # fmt: skip
cuts = st.lists(st.integers(0, 400), max_size=40)


class Reading:
    """What a whole stream says, step by step as in the standard, without a thought of speed."""

    def __init__(self, stream: bytes) -> None:
        self.events: list[SseEvent] = []
        self.last_event_id = ""
        self.retry: float | None = None
        data: list[bytes] = []
        kind, id_ = b"", b""
        *lines, _ = re.split(rb"\r\n|\r|\n", stream.removeprefix(b"\xef\xbb\xbf"))
        for line in lines:
            if not line:
                self.last_event_id = id_.decode("utf-8", "replace")
                if data:
                    type_ = kind.decode("utf-8", "replace") or "message"
                    self.events.append(SseEvent(b"\n".join(data), type_))
                data, kind = [], b""
                continue
            name, _, value = line.partition(b":")
            value = value[1:] if value[:1] == b" " else value
            if name == b"data":
                data.append(value)
            elif name == b"event":
                kind = value
            elif name == b"id" and b"\0" not in value:
                id_ = value
            elif name == b"retry" and re.fullmatch(rb"[0-9]{1,11}", value):
                self.retry = int(value) / 1000


@given(stream=streams, cuts=cuts)
def test_any_chunking_reads_what_the_standard_says(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    decoder = SseDecoder()
    events: list[SseEvent] = []
    for start, end in pairwise(edges):
        events += decoder.feed(stream[start:end])
    expected = Reading(stream)
    assert events == expected.events
    assert decoder.last_event_id == expected.last_event_id
    assert decoder.retry == expected.retry


@given(stream=streams, cuts=cuts, limit=st.integers(0, 12))
def test_a_limit_replaces_what_is_over_it_and_nothing_else(
    stream: bytes, cuts: list[int], limit: int
) -> None:
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    decoder = SseDecoder(max_event_bytes=limit)
    events: list[SseEvent] = []
    for start, end in pairwise(edges):
        events += decoder.feed(stream[start:end])
    for event, whole in zip(events, Reading(stream).events, strict=True):
        assert isinstance(whole.data, bytes)
        if isinstance(event.data, LineTooLong):
            assert len(whole.data) > limit
            assert whole.data.startswith(event.data.head)
        else:
            assert event == whole
            assert len(event.data) <= limit


lines_of_text = st.text().map(lambda text: re.sub(r"[\r\n\0]", "", text))


@given(
    data=st.binary().map(lambda data: data.replace(b"\r", b"").replace(b"\n", b"")),
    event=st.none() | lines_of_text,
    id=st.none() | lines_of_text,
    retry=st.none() | st.integers(0, 10**6),
)
def test_what_is_written_is_read_as_it_was(
    data: bytes, event: str | None, id: str | None, retry: int | None
) -> None:
    decoder = SseDecoder()
    assert decoder.feed(encode_event(data, event=event, id=id, retry=retry)) == [
        SseEvent(data, event or "message")
    ]
    assert decoder.last_event_id == (id or "")
    assert decoder.retry == (None if retry is None else retry / 1000)


@pytest.mark.parametrize("chunk", [1024, 65536])
def test_the_work_is_linear_in_the_bytes(chunk: int) -> None:
    def seconds(size: int) -> float:
        stream = b"data: " + b"x" * size + b"\n\n"
        decoder = SseDecoder()
        begun = process_time()
        events = [
            event
            for start in range(0, len(stream), chunk)
            for event in decoder.feed(stream[start : start + chunk])
        ]
        spent = process_time() - begun
        assert [len(event.data) for event in events if isinstance(event.data, bytes)] == [size]
        return spent

    seconds(1_000_000)
    short, long = (min(seconds(size) for _ in range(3)) for size in (1_000_000, 32_000_000))
    # Linear time is 32 times as much, quadratic 1024 times.
    assert long < 200 * max(short, 0.0005)

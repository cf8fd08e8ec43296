import pytest

from wigwag.bindings.lines import LineTooLong
from wigwag.bindings.sse import SseDecoder, SseEvent, encode_event

BOM = b"\xef\xbb\xbf"


def events_of(stream: bytes) -> list[SseEvent]:
    return SseDecoder().feed(stream)


def data_of(stream: bytes) -> list[bytes | LineTooLong]:
    return [event.data for event in events_of(stream)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_end_with_lf_cr_or_both(end: bytes) -> None:
    stream = end.join([b"event: ping", b"data: 1", b"", b"data: 2", b"data: 3", b"", b""])
    assert events_of(stream) == [SseEvent(b"1", "ping"), SseEvent(b"2\n3")]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_events_are_the_same_when_each_byte_comes_by_itself(end: bytes) -> None:
    stream = BOM + end.join(
        [b": hi", b"id: 4", b'data: {"a":"\xc3\xa9"', b"data:}", b"", b"data", b"", b""]
    )
    decoder = SseDecoder()
    events = [event for byte in stream for event in decoder.feed(bytes([byte]))]
    assert events == [SseEvent('{"a":"é"\n}'.encode()), SseEvent(b"")]
    assert decoder.last_event_id == "4"


def test_an_event_that_ends_in_cr_is_there_without_waiting_for_lf() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: 1\r\r") == [SseEvent(b"1")]
    assert decoder.feed(b"\ndata: 2\r") == []
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\n\r") == [SseEvent(b"2")]
    assert decoder.feed(b"\n\n\n") == []


def test_only_one_blank_after_the_colon_is_dropped() -> None:
    assert data_of(b"data:  a \ndata:b\n\n") == [b" a \nb"]


def test_a_field_without_colon_has_an_empty_value() -> None:
    assert data_of(b"data\ndata\n\n") == [b"\n"]


def test_comments_and_unknown_fields_are_ignored() -> None:
    assert data_of(b": keep-alive\n\n:\nzzz: 1\ndata: 1\n data: 2\nDATA: 3\n\n") == [b"1"]


def test_a_byte_order_mark_counts_at_the_start_only() -> None:
    assert data_of(BOM + b"data: 1\n\n" + BOM + b"data: 2\n\n") == [b"1"]


def test_other_separators_of_unicode_are_text() -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg".encode()
    assert data_of(b"data: " + text + b"\n\n") == [text]


def test_the_type_holds_for_one_event() -> None:
    assert events_of(b"event: ping\ndata: 1\n\nevent: x\n\ndata: 2\n\n") == [
        SseEvent(b"1", "ping"),
        SseEvent(b"2", "message"),
    ]


def test_an_id_without_data_counts_and_delivers_nothing() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"id: 7\n\n") == []
    assert decoder.last_event_id == "7"


def test_an_id_stays_until_there_is_another() -> None:
    decoder = SseDecoder()
    decoder.feed(b"id: 7\ndata: 1\n\ndata: 2\n\n")
    assert decoder.last_event_id == "7"
    decoder.feed(b"id\ndata: 3\n\n")
    assert decoder.last_event_id == ""


def test_the_id_of_an_event_that_was_cut_off_does_not_count() -> None:
    decoder = SseDecoder()
    decoder.feed(b"id: 7\ndata: 1\n\nid: 8\ndata: 2\n")
    assert decoder.last_event_id == "7"


def test_an_id_with_a_nul_is_ignored() -> None:
    decoder = SseDecoder()
    decoder.feed(b"id: 7\ndata: 1\n\nid: 8\x00\ndata: 2\n\n")
    assert decoder.last_event_id == "7"


@pytest.mark.parametrize("value", [b"", b"-1", b"1.5", b"soon", b"\xd9\xa3", b"9" * 40])
def test_a_retry_that_is_no_number_is_ignored(value: bytes) -> None:
    decoder = SseDecoder()
    decoder.feed(b"retry: 250\nretry: " + value + b"\n\n")
    assert decoder.retry == 0.25


def test_retry_is_in_milliseconds_and_counts_at_once() -> None:
    decoder = SseDecoder()
    assert decoder.retry is None
    decoder.feed(b"retry: 0\n")
    assert decoder.retry == 0.0


def test_data_over_the_limit_is_told_where_it_stood() -> None:
    decoder = SseDecoder(max_event_bytes=10)
    first, long, last = decoder.feed(
        b"data: 0123456789\n\ndata: 0123456789x\nid: 3\n\ndata: ok\n\n"
    )
    assert first.data == b"0123456789"
    assert isinstance(long.data, LineTooLong)
    assert long.data.limit == 10
    assert long.data.head == b"0123456789x"
    assert last.data == b"ok"
    assert decoder.last_event_id == "3"


def test_data_of_many_lines_is_bounded_as_a_whole() -> None:
    [event] = SseDecoder(max_event_bytes=10).feed(b"data: 012\n" * 4 + b"\n")
    assert isinstance(event.data, LineTooLong)
    assert event.data.head == b"012\n012\n012"
    [event] = SseDecoder(max_event_bytes=10).feed(b"data\n" * 12 + b"\n")
    assert isinstance(event.data, LineTooLong)


@pytest.mark.parametrize("start", [b"", BOM])
def test_a_line_over_the_limit_is_not_kept(start: bytes) -> None:
    decoder = SseDecoder(max_event_bytes=200_000)
    assert decoder.feed(start + b'data: {"id":1,') == []
    for _ in range(10):
        assert decoder.feed(b"x" * 100_000) == []
    [long, last] = decoder.feed(b"\ndata: more\n\ndata: ok\n\n")
    assert isinstance(long.data, LineTooLong)
    assert long.data.head.startswith(b'{"id":1,xxx')
    assert len(long.data.head) <= 4096
    assert last.data == b"ok"


def test_a_line_of_exactly_the_limit_is_read() -> None:
    decoder = SseDecoder(max_event_bytes=100_000)
    decoder.feed(b"data: " + b"x" * 70_000)
    assert decoder.feed(b"x" * 30_000 + b"\n\n") == [SseEvent(b"x" * 100_000)]


def test_other_fields_are_bounded_too() -> None:
    decoder = SseDecoder()
    decoder.feed(b"id: " + b"x" * 70_000)
    assert decoder.feed(b"x\ndata: 1\n\n") == [SseEvent(b"1")]
    assert decoder.last_event_id == ""


def test_an_event_is_written_so_that_it_can_be_read() -> None:
    text = encode_event(b'{"a":1}', event="message", id="a-7", retry=0)
    assert text == b'event: message\nid: a-7\nretry: 0\ndata: {"a":1}\n\n'
    decoder = SseDecoder()
    assert decoder.feed(text) == [SseEvent(b'{"a":1}')]
    assert (decoder.last_event_id, decoder.retry) == ("a-7", 0.0)


def test_a_message_stays_on_one_line() -> None:
    assert encode_event(b'{\r\n"a":\r1}') == b'data: {  "a": 1}\n\n'


def test_an_event_without_data_only_gives_its_id() -> None:
    text = encode_event(b"", id="7")
    assert text == b"id: 7\ndata: \n\n"
    decoder = SseDecoder()
    assert decoder.feed(text) == [SseEvent(b"")]
    assert decoder.last_event_id == "7"


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\0b"])
def test_what_would_break_the_stream_is_not_written(bad: str) -> None:
    with pytest.raises(ValueError, match="the id of an event cannot be"):
        encode_event(b"1", id=bad)
    with pytest.raises(ValueError, match="the event of an event cannot be"):
        encode_event(b"1", event=bad)

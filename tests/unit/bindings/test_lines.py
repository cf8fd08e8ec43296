import gc
import json
import tracemalloc
from time import process_time

import pytest

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES, LineDecoder, LineTooLong, encode_lines


def chunked(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def feed_all(decoder: LineDecoder, chunks: list[bytes]) -> list[bytes | LineTooLong]:
    return [line for chunk in chunks for line in decoder.feed(chunk)]


def too_long(line: bytes | LineTooLong) -> LineTooLong:
    assert isinstance(line, LineTooLong), line
    return line


# --- where lines end


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_the_lines_are_the_same_however_they_were_chunked(size: int) -> None:
    data = b'{"a":1}\r\n\n[2]\n\r\n\n\r\nx\n{"b":"\xe2\x80\xa8"}\n'
    lines = feed_all(LineDecoder(), chunked(data, size))
    assert lines == [b'{"a":1}', b"[2]", b"x", b'{"b":"\xe2\x80\xa8"}']


def test_an_unfinished_line_waits_for_its_end() -> None:
    decoder = LineDecoder()
    assert decoder.feed(b"") == []
    assert decoder.feed(b"{") == []
    assert decoder.feed(b"}") == []
    assert decoder.feed(b"\n{}\n{") == [b"{}", b"{}"]
    assert decoder.feed(b"}\n") == [b"{}"]


def test_only_a_line_feed_ends_a_line() -> None:
    text = '{"a":"one\u2028two\u2029three\u0085four\u000bfive\u000csix\rseven\u001c"}'.encode()
    assert LineDecoder().feed(text + b"\n") == [text]


def test_one_carriage_return_before_the_line_feed_is_dropped() -> None:
    decoder = LineDecoder()
    assert decoder.feed(b"{}\r") == []
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\n") == [b"{}"]
    assert decoder.feed(b"{}\n") == [b"{}"]
    assert decoder.feed(b"{}\r\r\n") == [b"{}\r"]


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"\n\n\n", b"\n\r\n"])
def test_empty_lines_are_nothing(blank: bytes) -> None:
    assert LineDecoder().feed(blank + b"{}\n" + blank) == [b"{}"]


def test_space_around_a_message_stays() -> None:
    assert LineDecoder().feed(b"  {} \n") == [b"  {} "]


# --- the end of the stream


@pytest.mark.parametrize(("rest", "lines"), [(b"", []), (b"\r", []), (b"{}\r", [b"{}"])])
def test_what_the_stream_ends_with_is_a_line_without_its_line_feed(
    rest: bytes, lines: list[bytes]
) -> None:
    decoder = LineDecoder()
    decoder.feed(b"{}\n" + rest)
    assert decoder.end() == lines
    assert decoder.end() == []


def test_a_stream_may_end_in_the_middle_of_an_overlong_line() -> None:
    decoder = LineDecoder(max_line_bytes=4)
    assert decoder.feed(b"12345") == []
    (line,) = decoder.end()
    assert too_long(line).head == b"12345"
    assert decoder.end() == []


# --- the limit


@pytest.mark.parametrize("size", [1, 3, 8, 9, 100])
def test_a_line_of_the_limit_passes_and_one_byte_more_does_not(size: int) -> None:
    decoder = LineDecoder(max_line_bytes=8)
    data = b"12345678\n123456789\n1234\n"
    first, second, third = feed_all(decoder, chunked(data, size))
    assert first == b"12345678"
    assert too_long(second).limit == 8
    assert too_long(second).head == b"123456789"[: len(too_long(second).head)]
    assert third == b"1234"


def test_overlong_lines_keep_their_places_among_the_others() -> None:
    decoder = LineDecoder(max_line_bytes=4)
    lines = decoder.feed(b"1\n22222\n3\n\n444444\n55555")
    assert [line if isinstance(line, bytes) else len(line.head) for line in lines] == [
        b"1",
        5,
        b"3",
        6,
    ]
    (fifth,) = decoder.feed(b"\n")
    assert too_long(fifth).head == b"55555"
    assert decoder.feed(b"ok\n") == [b"ok"]


def test_of_an_overlong_line_the_front_is_kept() -> None:
    front = b'{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":"'
    for size in (1000, 10_000, 100_000):
        decoder = LineDecoder(max_line_bytes=50_000)
        (line,) = feed_all(decoder, chunked(front + b"a" * 200_000 + b"\n", size))
        assert too_long(line).head.startswith(front)
        assert len(too_long(line).head) <= 4096


def test_the_carriage_return_counts_as_part_of_the_line() -> None:
    assert LineDecoder(max_line_bytes=3).feed(b"12\r\n") == [b"12"]
    (line,) = LineDecoder(max_line_bytes=2).feed(b"12\r\n")
    too_long(line)


def test_the_limit_lets_a_large_file_pass() -> None:
    assert DEFAULT_MAX_LINE_BYTES >= 40 * 1024 * 1024


# --- costs


def test_a_line_without_an_end_takes_no_more_memory_than_the_limit() -> None:
    decoder = LineDecoder(max_line_bytes=100_000)
    piece = b"x" * 1000
    gc.collect()
    tracemalloc.start()
    for _ in range(5000):
        decoder.feed(bytes(piece))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300_000


def test_a_line_in_tiny_pieces_takes_not_much_more_memory_than_its_bytes() -> None:
    decoder = LineDecoder(max_line_bytes=1_000_000)
    data = bytes(range(32, 127)) * 1500
    gc.collect()
    tracemalloc.start()
    for start in range(0, len(data), 2):
        decoder.feed(data[start : start + 2])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(data)  # pieces by themselves would take twenty times as much


@pytest.mark.parametrize("chunk", [4096, 65536])
def test_the_time_for_a_long_line_grows_with_its_length(chunk: int) -> None:
    def seconds(size: int) -> float:
        chunks = chunked(b"x" * size + b"\n", chunk)
        start = process_time()
        (line,) = feed_all(LineDecoder(), chunks)
        assert isinstance(line, bytes)
        return process_time() - start

    seconds(1_000_000)
    short, long = (min(seconds(size) for _ in range(3)) for size in (1_000_000, 32_000_000))
    # Linear time is 32 times as much, quadratic 1024 times.
    assert long < 200 * max(short, 0.0005)


# --- writing


def test_each_message_becomes_a_line() -> None:
    assert encode_lines([b'{"a":1}']) == b'{"a":1}\n'
    assert encode_lines([b'{"a":1}', b"[2]"]) == b'{"a":1}\n[2]\n'
    assert encode_lines([]) == b""


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_message_formatted_over_several_lines_becomes_one(newline: bytes) -> None:
    text = newline.join([b"{", b'  "a": [1, 1e400, "x\\ny"],', b'  "a": "\xe2\x80\xa8"', b"}"])
    for messages in ([text], [b"{}", text]):
        written = encode_lines(messages)
        assert written.count(b"\n") == len(messages)
        last = written.split(b"\n")[-2]
        assert last.split() == text.split()
        assert json.loads(last) == json.loads(text)


def test_what_is_written_is_read_back_as_it_was() -> None:
    messages = [json.dumps({"n": number, "t": "a\nb\u2028"}).encode() for number in range(3)]
    assert LineDecoder().feed(encode_lines(messages)) == messages

"""Lines are the same however their bytes were chunked."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.strategies import encoded, hostile_bytes, values
from wigwag.bindings.lines import LineDecoder, LineTooLong, encode_lines

LIMIT = 16
streams = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"{}", b" ", b"0123456789", b"\xe2\x80\xa8"])
    | st.binary(max_size=24),
    max_size=30,
).map(b"".join)


def expected(stream: bytes) -> list[bytes | int]:
    """Say what the lines of a stream are, by the definition; one that is too long by its length."""
    lines: list[bytes | int] = []
    *complete, rest = stream.split(b"\n")
    for line in [*complete, rest]:
        if len(line) > LIMIT:
            lines.append(LIMIT)
        elif bare := line.removesuffix(b"\r"):
            lines.append(bare)
    return lines


def comparable(lines: list[bytes | LineTooLong]) -> list[bytes | int]:
    return [line if isinstance(line, bytes) else line.limit for line in lines]


@given(stream=streams, cuts=st.lists(st.integers(0, 200), max_size=40))
def test_any_chunking_gives_the_same_lines(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    decoder = LineDecoder(max_line_bytes=LIMIT)
    lines: list[bytes | LineTooLong] = []
    for start, end in pairwise(edges):
        lines += decoder.feed(stream[start:end])
    lines += decoder.end()
    assert comparable(lines) == expected(stream)


@given(stream=streams)
def test_of_a_line_that_is_too_long_the_front_is_kept(stream: bytes) -> None:
    long = [line for line in stream.split(b"\n") if len(line) > LIMIT]
    decoder = LineDecoder(max_line_bytes=LIMIT)
    lines = [*decoder.feed(stream), *decoder.end()]
    heads = [line.head for line in lines if isinstance(line, LineTooLong)]
    assert len(heads) == len(long)
    assert all(line.startswith(head) and head for line, head in zip(long, heads, strict=True))


@given(data=st.data(), messages=st.lists(values, min_size=1, max_size=5))
def test_what_is_framed_comes_out_as_it_was(data: st.DataObject, messages: list[object]) -> None:
    texts = []
    for value in messages:
        text = data.draw(encoded({"v": value}))
        if data.draw(st.booleans()):
            text = json.dumps({"v": value}, indent=data.draw(st.integers(0, 2))).encode()
        texts.append(text)
    framed = encode_lines(texts)
    assert framed.count(b"\n") == len(texts)
    lines = LineDecoder().feed(framed)
    assert len(lines) == len(texts)
    for line, text in zip(lines, texts, strict=True):
        assert isinstance(line, bytes)
        decoded = [json.loads(t.decode("utf-8", "surrogatepass")) for t in (line, text)]
        assert decoded[0] == decoded[1]


@given(chunks=st.lists(hostile_bytes, max_size=8))
def test_no_bytes_trouble_the_decoder(chunks: list[bytes]) -> None:
    decoder = LineDecoder(max_line_bytes=LIMIT)
    lines = [line for chunk in chunks for line in decoder.feed(chunk)] + decoder.end()
    assert comparable(lines) == expected(b"".join(chunks))

"""How deep JSON may be nested here before the stack is used up, and a little more or less.

A message whose envelope could just be read can be too much for who reads its params, a few calls
further down: that is where the trouble is.
"""

from collections.abc import Iterator
from functools import cache

from wigwag.jsonrpc.codec import decode_message
from wigwag.jsonrpc.messages import Request

TOO_DEEP = 100_000
_MARGIN = 20


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def depths() -> Iterator[int]:
    """Return the depths around that at which reading fails."""
    deepest = _deepest()
    yield from range(max(1, deepest - _MARGIN), deepest + 3)
    yield TOO_DEEP


@cache
def _deepest() -> int:
    low, high = 1, TOO_DEEP
    while high - low > 1:
        middle = (low + high) // 2
        text = b'{"jsonrpc":"2.0","id":1,"method":"a","params":%b}' % nested(middle)
        if isinstance(decode_message(text), Request):
            low = middle
        else:
            high = middle
    return low

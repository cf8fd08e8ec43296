"""JSON values, messages that are nearly right, and bytes that are nearly messages."""

import json
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.pair import modern_meta
from wigwag.schema import METHODS, REVISIONS

Json: TypeAlias = Any

# Lone surrogates among them: JSON can write them, UTF-8 cannot.
texts = st.text(max_size=8) | st.text(
    st.characters(exclude_categories=[]) | st.sampled_from('\ud800\udfff\u2028\u0000\n\r"\\{}[]'),
    max_size=8,
)
integers = st.integers() | st.sampled_from([0, -1, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1])
numbers = integers | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)

ids = st.integers(-3, 12) | integers | texts | st.sampled_from(["1", "", "a"])
good_ids = ids.filter(lambda id_: not isinstance(id_, str) or _is_unicode(id_))
any_id = good_ids | values
methods = st.sampled_from([*METHODS, "no/such", "", "notifications/none"])
metas = (
    values
    | st.just(modern_meta())
    | st.dictionaries(
        st.sampled_from([*modern_meta(), "progressToken", "io.modelcontextprotocol/logLevel"]),
        values | st.sampled_from([*REVISIONS, {}, "info"]),
        max_size=4,
    )
)
members = {
    "name": texts,
    "uri": texts,
    "cursor": texts,
    "level": st.sampled_from(["debug", "error", "loud"]),
    "arguments": values,
    "requestId": any_id,
    "progressToken": any_id,
    "progress": numbers,
    "protocolVersion": st.sampled_from([*REVISIONS, "1999-01-01"]),
    "capabilities": st.just({}) | values,
    "clientInfo": st.just({"name": "c", "version": "1"}) | values,
    "ref": st.just({"type": "ref/prompt", "name": "a"}) | values,
    "argument": st.just({"name": "a", "value": ""}) | values,
    "messages": st.just([]) | values,
    "maxTokens": integers,
    "message": texts,
    "requestedSchema": st.just({"type": "object", "properties": {}}) | values,
    "notifications": st.just({}) | values,
    "supported": st.lists(st.sampled_from(REVISIONS)) | values,
    "supportedVersions": st.lists(st.sampled_from([*REVISIONS, "x"])) | values,
    "serverInfo": st.just({"name": "s", "version": "1"}) | values,
    "resultType": st.sampled_from(["complete", "input_required", "zzz"]) | values,
}
params: st.SearchStrategy[Json] = values | st.fixed_dictionaries(
    {}, optional={**members, "_meta": metas}
)
errors = values | st.fixed_dictionaries(
    {},
    optional={
        "code": st.sampled_from([-32022, -32601, -32700, -32020, 1]) | values,
        "message": texts | values,
        "data": params,
    },
)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


@st.composite
def nearly_messages(draw: st.DrawFn, *, id_: st.SearchStrategy[Json] = any_id) -> Json:
    """Draw something that is a message, or nearly one."""
    message: dict[str, Json] = {}
    if draw(st.integers(0, 9)):
        message["jsonrpc"] = "2.0"
    elif draw(st.booleans()):
        message["jsonrpc"] = draw(values)
    if draw(st.integers(0, 3)):
        message["id"] = draw(id_)
    kind = draw(st.sampled_from(["method", "method", "method", "result", "error", "any"]))
    if kind == "method" or (kind == "any" and draw(st.booleans())):
        message["method"] = draw(methods if draw(st.integers(0, 9)) else values)
        if draw(st.booleans()):
            message["params"] = draw(params)
    if kind == "result" or (kind == "any" and draw(st.booleans())):
        message["result"] = draw(params)
    if kind == "error" or (kind == "any" and draw(st.booleans())):
        message["error"] = draw(errors)
    if not draw(st.integers(0, 4)):
        message.update(draw(st.dictionaries(texts, values, max_size=2)))
    names = draw(st.permutations(list(message)))
    return {name: message[name] for name in names}


@st.composite
def encoded(draw: st.DrawFn, value: Json) -> bytes:
    """Draw one of the ways to write a value as JSON."""
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", "\t: ")]))
    plain = draw(st.booleans())
    text = json.dumps(value, ensure_ascii=not plain, separators=separators)
    # What UTF-8 cannot hold goes as bytes that are none.
    return text.encode("utf-8", "surrogatepass")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a message after an accident."""
    data = bytearray(draw(encoded(draw(nearly_messages()))))
    for _ in range(draw(st.integers(0, 3))):
        position = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["cut", "insert", "replace", "drop", "double"])):
            case "cut":
                del data[position:]
            case "insert":
                data[position:position] = draw(st.binary(max_size=4) | fragments)
            case "replace":
                data[position : position + 1] = draw(st.binary(min_size=1, max_size=1))
            case "drop":
                del data[position : position + draw(st.integers(1, 4))]
            case _:
                data += data[position:]
    return bytes(data)


fragments = st.sampled_from(
    [
        b'"id":7,', b'"method":"ping",', b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"NaN",
        b"1e999", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00", b"\r", b" ", b"-", b"null",
        b'"jsonrpc":"2.0",', b'{"jsonrpc":"2.0","id":1,"result":{}}', b"9" * 5000, b"[" * 2000,
    ]
)  # fmt: skip
hostile_bytes = st.binary(max_size=40) | damaged() | st.lists(fragments, max_size=12).map(b"".join)

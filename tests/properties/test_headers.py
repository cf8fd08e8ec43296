"""What one side writes into headers, the other reads out of them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from wigwag.bindings.header_values import decode_header_value, encode_header_value
from wigwag.bindings.http_headers import RequestHeaders, parameter_headers
from wigwag.bindings.mirrored_parameters import mirrored_parameters
from wigwag.errors import LocalProtocolError

MIRRORED = mirrored_parameters(
    {
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "n": {"type": "integer", "x-mcp-header": "N"},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
        }
    }
)


@given(st.text())
def test_any_text_survives_in_a_header(text: str) -> None:
    value = encode_header_value(text)
    assert value.isascii()
    assert value.isprintable()
    assert value == value.strip()
    assert decode_header_value(value.encode()) == text


_scalars = (
    st.none() | st.text() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats()
)


@given(st.fixed_dictionaries({}, optional={"region": _scalars, "n": _scalars, "flag": _scalars}))
def test_what_a_client_sends_a_server_accepts(arguments: dict[str, Any]) -> None:
    on_the_wire = {
        name: None if isinstance(value, float) and value - value != 0 else value
        for name, value in arguments.items()
    }
    try:
        sent = parameter_headers(MIRRORED, arguments)
    except LocalProtocolError:
        return  # a float that is an integer out of range
    lines = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    assert RequestHeaders(lines).check_parameters(MIRRORED, on_the_wire) is None

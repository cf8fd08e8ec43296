"""JSON of strangers, written again."""

import json

import pytest

from wigwag.tracing.json_text import encode_json


@pytest.mark.parametrize(
    "text", ['{"a":1.0,"b":[null,"\u0110"]}', str(10**30), '"\\ud800"', "[NaN]"]
)
def test_whatever_can_be_decoded_can_be_encoded(text: str) -> None:
    encode_json(json.loads(text))


def test_what_is_sound_is_written_as_short_as_can_be() -> None:
    assert encode_json({"a": [1, "\u0110"]}) == '{"a":[1,"\u0110"]}'.encode()

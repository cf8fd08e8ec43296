"""Whatever is taken out of a JSON text, it stays one."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from wigwag.tracing.redaction import Redaction

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["token", "a", "env", "x"]) | st.text(max_size=5), inner)
    ),
    max_leaves=15,
)


@given(value=JSON, is_ascii=st.booleans())
def test_json_stays_json_whatever_is_taken_out(*, value: Any, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    redaction = Redaction(["x"], {"A_TOKEN": 'quoted"\\8'})
    json.loads(redaction.json(text))


@given(st.text(), st.text(min_size=8))
def test_json_stays_json_whatever_is_known_to_be_secret(before: str, secret: str) -> None:
    redaction = Redaction(environment={"A_TOKEN": secret})
    found = json.loads(redaction.json(json.dumps({"text": before + secret})))
    assert secret not in found["text"]

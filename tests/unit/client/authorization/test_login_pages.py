"""Tests of the pages that a browser is shown."""

import re
from base64 import b64encode
from hashlib import sha256

from tests.unit.client.authorization.browser import read_answer
from wigwag.client.authorization.login_pages import DONE, ONLY_GET


def test_a_page_keeps_to_itself() -> None:
    answer = read_answer(DONE.response())
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["connection"] == "close"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.search(r"https?:|src=|href=|url\(", answer.body)


def test_what_a_page_runs_and_how_it_looks_is_all_that_is_allowed() -> None:
    answer = read_answer(DONE.response())
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        found = re.search(rf"<{kind}>(.*?)</{kind}>", answer.body, re.DOTALL)
        assert found is not None
        digest = b64encode(sha256(found[1].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_a_page_may_have_headers_of_its_own() -> None:
    assert read_answer(ONLY_GET.response()).headers["allow"] == "GET"

import pickle

import msgspec

from wigwag.oauth.secret import Secret


def test_a_secret_shows_in_no_text() -> None:
    secret = Secret("hush")
    holder = msgspec.defstruct("Holder", [("held", Secret)])(secret)
    for text in (repr(secret), str(secret), f"{secret}", f"{secret!r:>40}", repr([secret, holder])):
        assert "hush" not in text
    assert secret.reveal() == "hush"


def test_secrets_are_compared_by_what_they_hide() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("ä") != Secret("a")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1
    assert not Secret("")
    assert Secret("a")


def test_a_secret_survives_a_trip_between_processes() -> None:
    assert pickle.loads(pickle.dumps(Secret("a"))) == Secret("a")

import re

import pytest

from wigwag.oauth.pkce import RANDOM_BYTES, challenge_of, unguessable
from wigwag.oauth.secret import Secret


def test_a_verifier_has_the_length_and_the_letters_that_the_standard_wants() -> None:
    verifier = unguessable(bytes(range(RANDOM_BYTES)))
    assert re.fullmatch(r"[A-Za-z0-9_-]{43,128}", verifier)
    assert verifier == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"


def test_too_little_chance_is_refused() -> None:
    with pytest.raises(ValueError, match="32 random bytes"):
        unguessable(b"x" * 31)


def test_the_challenge_is_that_of_the_example_in_rfc_7636() -> None:
    verifier = Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    assert challenge_of(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

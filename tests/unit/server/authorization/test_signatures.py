import subprocess
import sys
from typing import Any

import pytest

from tests.unit.oauth.signing import SigningKey, b64, edwards, elliptic, rsa
from wigwag.oauth.jwk import ALGORITHMS, public_key
from wigwag.server.authorization.signatures import import_key, is_signed_by


def imported(key: SigningKey) -> Any:
    public = public_key(key.jwk)
    assert public is not None
    return import_key(public)


@pytest.mark.parametrize(
    ("key", "alg"),
    [
        *((rsa(), name) for name, (kind, _) in ALGORITHMS.items() if kind == "RSA"),
        (elliptic(), "ES256"),
        (SigningKey("EC", "P-384"), "ES384"),
        (SigningKey("EC", "P-521"), "ES512"),
        (edwards(), "EdDSA"),
        (edwards(), "Ed25519"),
    ],
)
def test_a_signature_holds_for_its_text_its_key_and_its_algorithm(
    key: SigningKey, alg: str
) -> None:
    text = key.sign({"a": 1}, alg)
    assert is_signed_by(text, alg, imported(key))
    head, _, signature = text.split(".")
    changed = b64(b'{"a": 2}')
    assert not is_signed_by(f"{head}.{changed}.{signature}", alg, imported(key))
    assert not is_signed_by(text[: text.rindex(".") + 1], alg, imported(key))


def test_another_key_has_not_signed_it() -> None:
    text = elliptic().sign({})
    assert not is_signed_by(text, "ES256", imported(elliptic("other")))


def test_a_key_of_another_kind_verifies_nothing() -> None:
    text = elliptic().sign({})
    for alg in ("RS256", "ES384", "none", "HS256", "EdDSA"):
        assert not is_signed_by(text, alg, imported(elliptic())), alg


def test_a_signature_that_cannot_be_read_is_none() -> None:
    text = elliptic().sign({})
    for wrong in ("", "text", f"{text}A", f"{text[:-1]}", f"{text}é", text.replace(".", "")):
        assert not is_signed_by(wrong, "ES256", imported(elliptic()))


def test_numbers_that_make_no_key_are_no_key() -> None:
    point = {"kty": "EC", "crv": "P-256", "x": b64(bytes(32)), "y": b64(bytes(31) + b"\1")}
    for jwk in (point, {"kty": "RSA", "n": b64(bytes(256)), "e": "AQAB"}, {"kty": "EC"}):
        with pytest.raises(ValueError, match="not those of a key"):
            import_key(jwk)


def test_without_joserfc_the_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['joserfc'] = None\n"
        "from wigwag.server.authorization.signatures import import_key\n"
        "try: import_key({})\n"
        "except RuntimeError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert "pip install 'wigwag[auth]'" in done.stdout

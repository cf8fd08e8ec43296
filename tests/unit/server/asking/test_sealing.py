import base64
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wigwag.server.asking.sealing import Seal, SealBroken

ONE, TWO = b"1" * 32, "2" * 32


@pytest.fixture(params=[True, False], ids=["encrypted", "signed"])
def make(request: pytest.FixtureRequest) -> Callable[..., Seal]:
    """Makes seals, of both kinds."""
    return partial(Seal, hides=request.param)


@given(content=st.binary(), purpose=st.binary(), kind=st.sampled_from(["e1.", "s1."]))
def test_what_was_sealed_for_a_purpose_is_opened_for_it(
    content: bytes, purpose: bytes, kind: str
) -> None:
    seal = Seal([ONE], hides=kind == "e1.")
    sealed = seal.seal(content, purpose)
    assert sealed.isascii()
    assert sealed.startswith(kind)
    assert Seal([ONE]).open(sealed, purpose) == content
    for other in (purpose + b"x", b"x" + purpose):
        with pytest.raises(SealBroken):
            seal.open(sealed, other)


def test_any_change_breaks_it(make: Callable[..., Seal]) -> None:
    seal = make([ONE])
    sealed = seal.seal(b"content", b"purpose")
    for place in range(len(sealed)):
        other = "A" if sealed[place] != "A" else "B"
        with pytest.raises(SealBroken):
            seal.open(sealed[:place] + other + sealed[place + 1 :], b"purpose")
        with pytest.raises(SealBroken):
            seal.open(sealed[:place], b"purpose")
    for more in ("x", "=", "-TAMPERED", " ", "\n", "é"):
        with pytest.raises(SealBroken):
            seal.open(sealed + more, b"purpose")


@given(text=st.text())
def test_any_other_text_is_broken(text: str) -> None:
    for prefix in ("", "e1.", "s1."):
        with pytest.raises(SealBroken):
            Seal([ONE]).open(prefix + text, b"")


def test_bits_that_base64_does_not_use_are_looked_at_too() -> None:
    seal = Seal([ONE], hides=False)
    for length in range(3):
        sealed = seal.seal(b"x" * length, b"")
        data = base64.urlsafe_b64decode(sealed[3:] + "=" * (-len(sealed[3:]) % 4))
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        for last in alphabet.replace(sealed[-1], ""):
            again = sealed[:-1] + last
            padded = again[3:] + "=" * (-len(again[3:]) % 4)
            if base64.urlsafe_b64decode(padded) == data:
                with pytest.raises(SealBroken):
                    seal.open(again, b"")


def test_the_first_key_seals_and_all_of_them_open(make: Callable[..., Seal]) -> None:
    old, new = make([TWO]), make([ONE, TWO])
    assert new.open(old.seal(b"x", b""), b"") == b"x"
    with pytest.raises(SealBroken):
        old.open(new.seal(b"x", b""), b"")


def test_without_keys_nobody_else_opens_it(make: Callable[..., Seal]) -> None:
    sealed = make().seal(b"x", b"")
    with pytest.raises(SealBroken):
        make().open(sealed, b"")


def test_the_same_content_is_sealed_otherwise_each_time() -> None:
    seal = Seal([ONE])
    assert seal.seal(b"x", b"") != seal.seal(b"x", b"")


def test_content_is_hidden_where_that_is_possible() -> None:
    def shown(sealed: str) -> bool:
        data = base64.urlsafe_b64decode(sealed[3:] + "=" * (-len(sealed[3:]) % 4))
        return b"a secret" in data

    assert not shown(Seal([ONE]).seal(b"a secret", b""))
    assert shown(Seal([ONE], hides=False).seal(b"a secret", b""))


def test_without_cryptography_it_is_signed_and_what_was_encrypted_is_not_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encrypted = Seal([ONE]).seal(b"x", b"")
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    seal = Seal([ONE])
    signed = seal.seal(b"x", b"")
    assert signed.startswith("s1.")
    assert seal.open(signed, b"") == b"x"
    with pytest.raises(SealBroken):
        seal.open(encrypted, b"")
    with pytest.raises(RuntimeError, match="cryptography is not installed"):
        Seal([ONE], hides=True).seal(b"x", b"")


@pytest.mark.parametrize("key", [b"", b"x" * 31, "short"], ids=repr)
def test_a_short_key_is_refused(key: Any) -> None:
    with pytest.raises(ValueError, match="at least 32 random bytes"):
        Seal([ONE, key])


def test_keys_are_not_used_as_they_are() -> None:
    # HKDF-SHA256 with no salt: the vector of another implementation.
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

    from wigwag.server.asking.sealing import _derive  # noqa: PLC0415

    theirs = HKDF(SHA256(), 32, salt=None, info=b"wigwag request state: sign").derive(ONE)
    assert _derive(ONE, b"sign") == theirs

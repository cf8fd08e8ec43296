import pytest

from wigwag.oauth.nonces import Nonces

KEY, OTHER = b"k" * 16, b"o" * 32
NOW = 1_000_000.5


def test_a_server_knows_its_own_nonces_without_keeping_them() -> None:
    nonce = Nonces([KEY]).create(NOW)
    assert Nonces([KEY]).is_good(nonce, NOW)
    assert not Nonces([OTHER]).is_good(nonce, NOW)
    assert len(nonce) == 32
    assert nonce.isascii()


def test_a_nonce_is_good_for_a_while() -> None:
    nonces = Nonces([KEY], 60)
    nonce = nonces.create(NOW)
    assert nonces.is_good(nonce, NOW + 59)
    assert not nonces.is_good(nonce, NOW + 60)
    assert not nonces.is_good(nonce, NOW - 2)


def test_keys_can_be_changed_without_refusing_anybody() -> None:
    old = Nonces([KEY]).create(NOW)
    both = Nonces([OTHER, KEY])
    assert both.is_good(old, NOW)
    assert Nonces([OTHER]).is_good(both.create(NOW), NOW)


def test_a_client_is_told_the_next_nonce_in_time() -> None:
    nonces = Nonces([KEY], 60)
    nonce = nonces.create(NOW)
    assert nonces.next_after(nonce, NOW + 29) is None
    following = nonces.next_after(nonce, NOW + 31)
    assert following is not None
    assert nonces.is_good(following, NOW + 80)
    assert nonces.next_after("nonsense", NOW) is not None


@pytest.mark.parametrize("wrong", ["", "x" * 32, "=" * 32, "é" * 32, None, 7])
def test_what_is_no_nonce_is_not_good(wrong: object) -> None:
    assert not Nonces([KEY]).is_good(wrong, NOW)


def test_a_nonce_that_was_changed_is_not_good() -> None:
    nonces = Nonces([KEY])
    nonce = nonces.create(NOW)
    for place in range(len(nonce)):
        changed = nonce[:place] + ("A" if nonce[place] != "A" else "B") + nonce[place + 1 :]
        assert not nonces.is_good(changed, NOW)


@pytest.mark.parametrize("keys", [[], [b"short"], [KEY, b""]])
def test_a_key_that_can_be_guessed_is_refused(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Nonces(keys)

"""What is secret in the start of a server."""

import pytest

from wigwag.doctor.secrets import hide_secrets, is_placeholder, is_secret_name, is_token


@pytest.mark.parametrize(
    "name", ["API_KEY", "GITHUB_TOKEN", "db-password", "Authorization", "auth"]
)
def test_secrets_are_told_by_their_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["LOG_LEVEL", "HOME", "port", "NODE_ENV", "author", "keyword"])
def test_other_names_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value",
    [
        "ghp_" + "a" * 36,
        "sk-proj-" + "a" * 40,
        "xoxb-1234567890-abc",
        "postgres://cat:meow@host/db",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJjYXQifQ.",
    ],
)
def test_tokens_are_told_by_their_form(value: str) -> None:
    assert is_token(value)
    assert hide_secrets(f"bad {value}!", {}) != f"bad {value}!"


@pytest.mark.parametrize("value", ["/home/ada", "https://example.com/a:b@c", "skip-me", "0.1.0"])
def test_other_values_are_no_tokens(value: str) -> None:
    assert not is_token(value)


@pytest.mark.parametrize(
    "value",
    ["YOUR_API_KEY", "<token>", "xxx", "your-key-here", "...", "changeme", "[token]", "TODO"],
)
def test_placeholders_are_told(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize(
    "value", ["production", "/srv/your files", "https://x.y", "4711", "youre", "[::1]:80"]
)
def test_values_are_no_placeholders(value: str) -> None:
    assert not is_placeholder(value)


def test_values_of_secret_variables_are_hidden_and_others_are_not() -> None:
    env = {"ZOO_TOKEN": "lion-king", "PIN_KEY": "1", "MODE": "lion-king-2"}
    assert hide_secrets("1 lion-king mode", env) == "1 *** mode"

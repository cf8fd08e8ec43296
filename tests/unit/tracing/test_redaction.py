"""What is taken out of recordings, and what is not."""

import json
from typing import Any

import pytest

from wigwag.tracing.redaction import REDACTED, Redaction

GITHUB = "ghp_" + "a1B2" * 9
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"


def redacted(value: Any, *names: str) -> Any:
    return json.loads(Redaction(names).json(json.dumps(value)))


@pytest.mark.parametrize(
    "name",
    ["token", "access_token", "apiKey", "x-api-key", "GITHUB_TOKEN", "password", "clientSecret"],
)
def test_members_with_telling_names_lose_their_values(name: str) -> None:
    assert redacted({"arguments": {name: "hunter2", "city": "Bern"}}) == {
        "arguments": {name: REDACTED, "city": "Bern"}
    }


@pytest.mark.parametrize(
    "name", ["progressToken", "nextCursor", "maxTokens", "name", "requestState"]
)
def test_members_of_the_protocol_keep_theirs(name: str) -> None:
    assert redacted({"_meta": {name: "abc", "token": ""}}) == {"_meta": {name: "abc", "token": ""}}


def test_schemas_of_secrets_stay_schemas() -> None:
    schema = {
        "properties": {
            "password": {"type": "string", "description": "Yours."},
            "env": {"type": "object", "description": "Variables."},
        },
        "required": ["password"],
        "token": None,
    }
    assert redacted(schema) == schema


def test_environments_lose_all_values() -> None:
    assert redacted({"env": {"LANG": "C", "N": 1}, "args": ["-v"]}) == {
        "env": {"LANG": REDACTED, "N": REDACTED},
        "args": ["-v"],
    }


def test_lists_under_a_telling_name_lose_theirs() -> None:
    assert redacted({"secret": ["a", {"b": "c"}, "d"], "e": "f"}) == {
        "secret": [REDACTED, {"b": "c"}, REDACTED],
        "e": "f",
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"use {GITHUB}.", f"use {REDACTED}."),
        (f"Bearer {JWT} is old", f"Bearer {REDACTED} is old"),
        (f"it is {JWT}", f"it is {REDACTED}"),
        ("Authorization: Bearer abc\nAccept: a", f"Authorization: {REDACTED}\nAccept: a"),
        ("https://me:pa55@example.com/x", f"https://me:{REDACTED}@example.com/x"),
        ("GITHUB_TOKEN=abc PATH=/bin", f"GITHUB_TOKEN={REDACTED} PATH=/bin"),
        ("--api-key=abc --name=x", f"--api-key={REDACTED} --name=x"),
        ('{"API_KEY": "abc", "a": "b"}', f'{{"API_KEY": "{REDACTED}", "a": "b"}}'),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- end",
            f"{REDACTED} end",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", REDACTED),
    ],
)
def test_credentials_are_found_in_any_text(text: str, shown: str) -> None:
    assert Redaction().text(text) == shown
    assert redacted({"text": text}) == {"text": shown}


@pytest.mark.parametrize(
    "text",
    [
        "basic authentication is what the bearer of this token needs",
        "the token: see the docs",
        "progressToken=7 key=value",
        "file:///home/me/secret.txt and https://example.com:8443/a@b",
        "it is all right",
    ],
)
def test_texts_about_secrets_are_none(text: str) -> None:
    assert Redaction().text(text) == text


def test_nothing_else_changes_by_a_byte() -> None:
    text = '{ "b" : 1.50, "token" : "x",\t"a":[1E5 , "\\u00e9"] }'
    assert Redaction().json(text) == text.replace('"x"', f'"{REDACTED}"')


def test_names_of_ones_own_hide_whatever_is_there() -> None:
    message = {"params": {"SSN": 12345, "address": {"street": ["a", {"b": 1}]}, "n": 1}}
    assert redacted(message, "ssn", "Address") == {
        "params": {"SSN": REDACTED, "address": REDACTED, "n": 1}
    }


def test_values_of_secret_variables_are_found_anywhere() -> None:
    redaction = Redaction(environment={"DESK_TOKEN": 'pass"word\\1', "LANG": "de_CH.UTF-8"})
    assert redaction.text('I use pass"word\\1 in de_CH.UTF-8') == f"I use {REDACTED} in de_CH.UTF-8"
    text = json.dumps({"text": 'it is pass"word\\1'})
    assert json.loads(redaction.json(text)) == {"text": f"it is {REDACTED}"}


def test_what_was_secret_once_is_so_where_it_is_repeated() -> None:
    redaction = Redaction()
    redaction.json('{"password":"correct-horse-1"}')
    assert (
        redaction.json('{"text":"you said correct-horse-1"}') == f'{{"text":"you said {REDACTED}"}}'
    )
    redaction.header("Authorization", "Bearer abcdefgh1")
    assert redaction.text("got abcdefgh1") == f"got {REDACTED}"


def test_short_values_do_not_turn_up_in_other_words() -> None:
    redaction = Redaction(environment={"A_TOKEN": "dev"})
    assert redaction.text("development") == "development"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("authorization", "Bearer abc", f"Bearer {REDACTED}"),
        ("Authorization", "abc", REDACTED),
        ("cookie", "a=b", REDACTED),
        ("x-api-key", "k", REDACTED),
        ("mcp-session-id", "0815", REDACTED),
        ("dpop", "proof", REDACTED),
        (
            "location",
            "https://a.example/cb?code_verifier=x&n=1",
            f"https://a.example/cb?code_verifier={REDACTED}&n=1",
        ),
        ("accept", "application/json", "application/json"),
    ],
)
def test_headers_lose_what_authorizes(name: str, value: str, shown: str) -> None:
    assert Redaction().header(name, value) == shown


def test_commands_lose_what_is_secret_in_their_words() -> None:
    words = ["npx", "--token", "abc", "--api-key=abc", "-e", "A_SECRET=abc", "-v"]
    shown = [
        "npx",
        "--token",
        REDACTED,
        f"--api-key={REDACTED}",
        "-e",
        f"A_SECRET={REDACTED}",
        "-v",
    ]
    assert Redaction().words(words) == shown
    words = ["srv", "--token", "--verbose", "http://u:p@h/x?token=y"]
    shown = ["srv", "--token", "--verbose", f"http://h/x?token={REDACTED}"]
    assert Redaction().words(words) == shown


def test_urls_lose_users_secret_parameters_and_secret_parts() -> None:
    redaction = Redaction(["tenant"])
    assert redaction.url(
        "https://me:pw@a.example/s/3f2504e04f8941d39a0c0305e82c3301/mcp?x=1&Tenant=2"
    ) == (f"https://a.example/s/{REDACTED}/mcp?x=1&Tenant={REDACTED}")
    assert redaction.url("/messages?sessionId=77") == f"/messages?sessionId={REDACTED}"
    assert redaction.url("http://[bad") == "http://[bad"
    assert redaction.url("/callback?code=abc&state=x") == f"/callback?code={REDACTED}&state=x"


def test_forms_lose_the_code_that_a_token_is_had_for() -> None:
    redaction = Redaction()
    first = "code=abc&grant_type=authorization_code&code_verifier=v"
    assert redaction.text(first) == (
        f"code={REDACTED}&grant_type=authorization_code&code_verifier={REDACTED}"
    )
    last = "grant_type=authorization_code&code=abc"
    assert redaction.text(last) == f"grant_type=authorization_code&code={REDACTED}"
    assert redaction.text("code=7, token expired") == "code=7, token expired"


@pytest.mark.parametrize("filling", ["aB3+pwd", "a.b-", "one token, ", "İ ", "://"])
def test_secrets_are_found_in_long_texts(filling: str) -> None:
    text = f"{filling * 3_000} {GITHUB} {filling * 3_000}"
    expected = f"{filling * 3_000} {REDACTED} {filling * 3_000}"
    assert Redaction().text(text) == expected
    assert redacted([text, "token"]) == [expected, "token"]


def test_pictures_stay_as_they_are() -> None:
    message = {"data": "aB3+pwd/" * 100_000, "token": "x"}
    assert redacted(message) == {**message, "token": REDACTED}

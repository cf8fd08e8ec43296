import pytest

from wigwag.oauth.challenge_writing import write_challenges
from wigwag.oauth.challenges import demand_of, parse_challenges

METADATA = "https://mcp.example/.well-known/oauth-protected-resource/mcp"


def test_a_request_without_token_is_told_where_to_get_one_and_no_error() -> None:
    assert write_challenges(["Bearer"], resource_metadata=METADATA, scopes=("a", "b")) == (
        f'Bearer scope="a b", resource_metadata="{METADATA}"',
    )
    assert write_challenges(["Bearer"]) == ("Bearer",)


def test_a_client_reads_what_a_server_writes() -> None:
    lines = write_challenges(
        ["Bearer", "DPoP"],
        resource_metadata=METADATA,
        scopes=("files:read", "files:write"),
        error="insufficient_scope",
        error_description="this needs files:write",
        algorithms=("ES256", "PS256"),
    )
    demand = demand_of(parse_challenges(lines))
    assert demand.resource_metadata == METADATA
    assert demand.scopes == ("files:read", "files:write")
    assert demand.is_about_scope
    assert demand.error_description == "this needs files:write"
    bearer, dpop = parse_challenges(lines)
    assert (bearer.scheme, dpop.scheme) == ("bearer", "dpop")
    assert dpop.parameters["algs"] == "ES256 PS256"
    assert "algs" not in bearer.parameters


@pytest.mark.parametrize(
    ("used", "at_fault"), [("DPoP", "DPoP"), ("Bearer", "Bearer"), (None, "Bearer")]
)
def test_only_the_scheme_that_was_used_says_what_is_wrong(used: str | None, at_fault: str) -> None:
    lines = write_challenges(
        ["Bearer", "DPoP"],
        error="invalid_token",
        used=used,  # type: ignore[arg-type]
    )
    assert [line.split(" ")[0] for line in lines if "invalid_token" in line] == [at_fault]


def test_a_scheme_that_is_not_accepted_leaves_the_error_to_one_that_is() -> None:
    lines = write_challenges(["DPoP"], error="invalid_token", used="Bearer", algorithms=("ES256",))
    assert lines == ('DPoP error="invalid_token", algs="ES256"',)


def test_nothing_can_end_the_string_or_the_header_that_it_stands_in() -> None:
    (line,) = write_challenges(
        ["Bearer"],
        resource_metadata='https://a.example/"\r\nSet-Cookie: x=1',
        scopes=('a"', "b\\", "ok", "c\r\nX: y"),
        error="invalid_token",
        error_description='no "way"\\\r\nX: é',
    )
    assert line == (
        'Bearer error="invalid_token", error_description="no \'way\' X:", scope="ok", '
        'resource_metadata="https://a.example/\' Set-Cookie: x=1"'
    )

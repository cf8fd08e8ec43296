"""Servers that say whatever they like about authorization, and who must not get anything by it."""

import json
from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.oauth.world import NOW, AuthorizationServerScript, World, query_of
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.attempts import Attempts
from wigwag.oauth.challenges import Challenge, demand_of, parse_challenges
from wigwag.oauth.obtaining import ByAssertion, ByClientCredentials, ByUser
from wigwag.oauth.registration import PreRegistered
from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.oauth.secret import Secret
from wigwag.oauth.steps import AskUser
from wigwag.oauth.storage import Tokens

# --- challenges

PIECES = st.sampled_from(
    ["Bearer", "DPoP", " ", ",", "=", '"', "\\", "a", "realm", 'x="y"', "==", "\t", "é", "\0", "?"]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_nothing_that_a_server_may_write_breaks_the_reading(line: str) -> None:
    challenges = parse_challenges([line])
    demand_of(challenges)
    for challenge in challenges:
        assert challenge.scheme == challenge.scheme.lower()
        assert challenge.scheme in line.lower()


SCHEMES = st.sampled_from(["Bearer", "dpop", "BASIC"])
NAMES = st.sampled_from(["scope", "realm", "error", "resource_metadata", "x-1"])
PARAMETERS = st.dictionaries(NAMES, st.text(st.characters(max_codepoint=126), max_size=20))


@given(st.lists(st.tuples(SCHEMES, PARAMETERS), max_size=5))
def test_what_is_written_properly_is_read_back(written: list[tuple[str, dict[str, str]]]) -> None:
    def quoted(value: str) -> str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    line = ", ".join(
        scheme + " " + ", ".join(f"{name}={quoted(value)}" for name, value in parameters.items())
        for scheme, parameters in written
    )
    assert parse_challenges([line]) == tuple(
        Challenge(scheme.lower(), parameters) for scheme, parameters in written
    )


# --- whole flows

JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        None, True, 7, "", "x", [], {}, ["x"], "https://evil.example", "https://as.example/",
        "http://as.example/token", "http://169.254.169.254/", "javascript:alert(1)",
        "https://me@as.example", "S256", "none", "invalid_client", "invalid_grant", "a\r\nb",
    ]
)  # fmt: skip
STATUSES = st.sampled_from([200, 201, 302, 400, 401, 404, 500, 503])
MEMBERS = st.sampled_from(
    [
        "issuer", "resource", "authorization_servers", "authorization_endpoint", "token_endpoint",
        "registration_endpoint", "code_challenge_methods_supported", "client_id", "client_secret",
        "token_endpoint_auth_methods_supported", "token_endpoint_auth_method", "access_token",
        "token_type", "expires_in", "refresh_token", "scope", "error", "error_description",
        "authorization_response_iss_parameter_supported", "scopes_supported",
    ]
)  # fmt: skip
TAMPERING = st.one_of(
    st.none(),
    st.tuples(STATUSES, st.binary(max_size=20)),
    st.dictionaries(MEMBERS, JUNK, min_size=1, max_size=2),
)
REDIRECTS = st.one_of(
    st.none(), st.dictionaries(st.sampled_from(["code", "state", "iss", "error"]), st.text())
)
CHALLENGES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "Bearer",
            'Bearer scope="a"',
            'Bearer error="insufficient_scope", scope="a b"',
            'Bearer error="insufficient_scope"',
            'Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource"',
            'Bearer resource_metadata="http://10.0.0.1/"',
        ]
    ),
)
WAYS = st.sampled_from([ByUser(), ByClientCredentials(), ByAssertion()])


class TamperedWorld(World):
    """A world in which any response, and any redirect, may be another than it should be."""

    def __init__(self, tampering: list[Any], redirects: list[dict[str, str] | None]) -> None:
        super().__init__(AuthorizationServerScript())
        self._tampering = list(tampering)
        self._redirects = list(redirects)
        self.user = self.come_back

    def respond(self, request: HttpRequest) -> HttpResponse:
        assert request.url.startswith("https://")
        assert len(self.requests) < 100
        honest = super().respond(request)
        tampered = self._tampering.pop(0) if self._tampering else None
        match tampered:
            case (int(status), bytes(body)):
                return HttpResponse(status, (), body, NOW)
            case dict() as members:
                document = {**(honest.read_object() or {}), **members}
                return HttpResponse(honest.status, (), json.dumps(document).encode(), NOW)
        return honest

    def come_back(self, question: AskUser) -> str:
        assert question.url.startswith("https://")
        assert "#" not in question.url
        fields = query_of(question.url)
        assert fields["code_challenge_method"] == "S256"
        tampered = self._redirects.pop(0) if self._redirects else None
        if tampered is None and question.url.startswith(self.server.issuer):
            return self.server.authorize(question)
        return "?" + "&".join(f"{name}={value}" for name, value in (tampered or {}).items())


@given(
    st.lists(TAMPERING, max_size=12),
    st.lists(REDIRECTS, max_size=3),
    st.lists(st.tuples(CHALLENGES, st.sampled_from([401, 401, 403])), min_size=1, max_size=6),
    WAYS,
    st.booleans(),
)
def test_every_flow_ends_in_a_token_or_in_an_error_that_tells_no_secret(
    tampering: list[Any],
    redirects: list[dict[str, str] | None],
    challenges: list[tuple[str, int]],
    way: Any,
    is_known: bool,  # noqa: FBT001
) -> None:
    world = TamperedWorld(tampering, redirects)
    world.assertions = defaultdict(lambda: "s3cret-jwt")
    given = PreRegistered(client_id="me", client_secret=Secret("s3cret")) if is_known else None
    client = world.client(way=way, given=given)
    attempts = Attempts()
    used: Tokens | None = None
    told = ""
    for challenge, status in challenges:
        try:
            used = world.refuse(
                client, challenge, status=status, used=used, attempts=attempts, now=NOW
            )
        except AuthorizationFailed as error:
            told += f"{error}{error!r}"
    assert attempts.grants <= 3
    secrets = ["s3cret", *world.server.refresh_tokens, *world.server.codes]
    assert [secret for secret in secrets if secret in told] == []

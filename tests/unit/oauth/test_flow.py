"""Whole flows against scripted servers: what is asked of whom, in which order, and what is kept."""

import json

import pytest

from tests.unit.oauth.world import (
    ISSUER,
    NOW,
    PRM,
    REDIRECT,
    SERVER,
    AuthorizationServerScript,
    World,
    json_response,
    query_of,
    refusal_of,
    revealed,
)
from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationRefused,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
    InsufficientScope,
    RegistrationFailed,
)
from wigwag.oauth.attempts import Attempts
from wigwag.oauth.obtaining import ByAssertion, ByClientCredentials, ByIdentityProvider
from wigwag.oauth.registration import PreRegistered
from wigwag.oauth.requests import HttpResponse
from wigwag.oauth.secret import Secret

LATER = NOW + 7200


def decoded(world: World, key: str) -> dict[str, object]:
    document: dict[str, object] = json.loads(world.store[key])
    return document


# --- logging in


def test_a_refused_request_leads_through_discovery_registration_and_consent_to_a_token() -> None:
    world = World()
    tokens = world.refuse(world.client(), f'Bearer resource_metadata="{PRM}", scope="files:read"')
    assert world.urls == [
        PRM,
        f"{ISSUER}/.well-known/oauth-authorization-server",
        f"{ISSUER}/register",
        f"{ISSUER}/token",
    ]
    (asked,) = world.server.authorized
    assert (asked["response_type"], asked["client_id"], asked["redirect_uri"]) == (
        "code",
        "client-1",
        REDIRECT,
    )
    assert (asked["code_challenge_method"], asked["resource"]) == ("S256", SERVER)
    assert asked["scope"] == "files:read"
    (form,) = world.server.forms
    assert (form["resource"], form["client_id"]) == (SERVER, "client-1")
    assert revealed(tokens) == "access-2"
    assert (tokens.expires_at, tokens.scopes) == (NOW + 3600, ("files:read",))


def test_what_was_got_is_kept_and_needs_nobody_until_it_runs_out() -> None:
    world = World()
    first = world.refuse(world.client())
    asked = len(world.requests)
    assert revealed(world.current(world.client())) == revealed(first)
    assert len(world.requests) == asked
    assert decoded(world, f"registration {ISSUER}")["client_id"] == "client-1"
    assert decoded(world, f"tokens {ISSUER} {SERVER}")["expires_at"] == NOW + 3600


def test_nothing_is_sent_before_a_server_refuses() -> None:
    world = World()
    assert world.current(world.client()) is None
    assert world.requests == []


def test_each_log_in_has_a_state_and_a_verifier_of_its_own() -> None:
    world = World()
    client = world.client()
    world.run(client.log_in((), NOW))
    world.run(client.log_in((), NOW))
    first, second = world.server.authorized
    assert first["state"] != second["state"]
    assert first["code_challenge"] != second["code_challenge"]
    assert len({first["state"], first["code_challenge"], second["state"]}) == 3
    assert len(world.server.registered) == 1


def test_the_resource_is_what_the_metadata_says_it_is_in_every_request() -> None:
    world = World(resource="https://mcp.example/")
    client = world.client()
    tokens = world.refuse(client)
    world.current(client, LATER)
    assert tokens.resource == "https://mcp.example/"
    assert [fields["resource"] for fields in (*world.server.authorized, *world.server.forms)] == [
        "https://mcp.example/"
    ] * 3


def test_a_client_whose_port_has_changed_registers_anew() -> None:
    world = World()
    client = world.client()
    world.refuse(client)
    assert world.listened[0].registered == ()
    world.redirect_uri = "http://127.0.0.1:8888/callback"
    world.run(client.log_in((), NOW))
    assert world.listened[1].registered == (REDIRECT,)
    assert [wanted["redirect_uris"] for wanted in world.server.registered] == [
        [REDIRECT],
        ["http://127.0.0.1:8888/callback"],
    ]


# --- refreshing


def test_a_token_that_has_run_out_is_refreshed_without_a_browser_after_a_restart() -> None:
    world = World()
    world.refuse(world.client())
    discovered = len(world.requests)
    tokens = world.current(world.client(), LATER)
    assert revealed(tokens) == "access-3"
    assert world.urls[discovered:] == [f"{ISSUER}/token"]
    assert len(world.questions) == 1
    assert world.server.forms[-1]["resource"] == SERVER


def test_rotated_refresh_tokens_are_kept_and_others_stay() -> None:
    world = World()
    client = world.client()
    world.refuse(client)
    world.current(client, LATER)
    assert decoded(world, f"tokens {ISSUER} {SERVER}")["refresh_token"] == "refresh-3"
    world.server.extra = {"refresh_token": None}
    world.server.refresh_tokens = {"refresh-3"}
    world.server.metadata["code_challenge_methods_supported"] = ["S256"]
    tokens = world.current(client, LATER)
    assert tokens is not None
    assert tokens.refresh_token == Secret("refresh-3")


def test_a_refresh_keeps_the_scopes_that_the_token_has() -> None:
    world = World(scopes_supported=["a", "b"])
    client = world.client()
    world.server.extra = {"scope": "a"}
    world.refuse(client)
    world.server.extra = {}
    tokens = world.current(client, LATER)
    assert tokens is not None
    assert (tokens.scopes, tokens.requested_scopes) == (("a",), ("a", "b"))


def test_a_refresh_token_that_is_no_longer_good_costs_the_tokens_but_not_the_client() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client)
    world.server.refresh_tokens.clear()
    assert world.current(client, LATER) is None
    assert f"tokens {ISSUER} {SERVER}" not in world.store
    assert f"registration {ISSUER}" in world.store
    world.refuse(client, used=used, now=LATER)
    assert len(world.server.registered) == 1
    assert len(world.questions) == 2


def test_a_client_that_is_no_longer_known_registers_anew() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client)
    world.server.refusals = [refusal_of("invalid_client", 401)]
    assert world.current(client, LATER) is None
    assert f"registration {ISSUER}" not in world.store
    assert f"tokens {ISSUER} {SERVER}" in world.store
    again = world.refuse(client, used=used, now=LATER)
    assert again.client_id == "client-2"


def test_a_client_that_is_forgotten_while_the_user_consents_registers_once_more_only() -> None:
    world = World()
    world.server.refusals = [refusal_of("invalid_client", 401)]
    assert world.refuse(world.client()).client_id == "client-2"
    world = World()
    world.server.refusals = [refusal_of("invalid_client", 401)] * 5
    with pytest.raises(AuthorizationRefused, match="invalid_client"):
        world.refuse(world.client())
    assert len(world.server.registered) == 2


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_server_that_is_down_costs_nothing(status: int) -> None:
    world = World()
    client = world.client()
    world.refuse(client)
    before = dict(world.store)
    world.server.refusals = [HttpResponse(status, (), b'{"error":"invalid_grant"}')]
    with pytest.raises(AuthorizationUnavailable, match="try again later"):
        world.current(client, LATER)
    assert world.store == before
    assert revealed(world.current(client, LATER)) == "access-3"


def test_a_token_that_is_about_to_expire_is_used_if_it_cannot_be_refreshed_right_now() -> None:
    world = World()
    client = world.client()
    first = world.refuse(client)
    world.server.refusals = [HttpResponse(503)]
    assert revealed(world.current(client, NOW + 3590)) == revealed(first)
    assert revealed(world.current(client, NOW + 3590)) == "access-3"


def test_a_token_endpoint_that_has_moved_is_looked_for_again() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client)
    world.server.metadata["token_endpoint"] = f"{ISSUER}/token2"
    assert world.current(client, LATER) is None
    again = world.refuse(client, used=used, now=LATER)
    assert world.urls[-1] == f"{ISSUER}/token2"
    assert revealed(again) == "access-3"
    assert len(world.questions) == 1


def test_who_waited_for_a_refresh_takes_what_the_other_one_got() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client)
    renewed = world.current(world.client(), LATER)
    asked = len(world.requests)
    got = world.refuse(client, 'Bearer error="invalid_token"', used=used, now=NOW + 10)
    assert revealed(got) == revealed(renewed)
    assert len(world.requests) == asked


def test_a_refused_token_is_refreshed_before_the_user_is_asked() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client)
    attempts = Attempts()
    second = world.refuse(client, used=used, attempts=attempts)
    assert len(world.questions) == 1
    third = world.refuse(client, used=second, attempts=attempts)
    assert len(world.questions) == 2
    with pytest.raises(AuthorizationRefused, match="does not accept the token that was just"):
        world.refuse(client, used=third, attempts=attempts)
    assert len(world.questions) == 2


def test_a_request_that_failed_for_a_moment_starts_where_it_was() -> None:
    world = World()
    client = world.client()
    attempts = Attempts()
    used = world.refuse(client)
    world.server.refusals = [HttpResponse(503)]
    with pytest.raises(AuthorizationUnavailable):
        world.refuse(client, used=used, attempts=attempts)
    renewed = world.refuse(client, used=used, attempts=attempts)
    assert len(world.questions) == 1
    world.server.refresh_tokens.clear()
    world.user = lambda question: (
        f"?error=server_error&iss={ISSUER}&state={query_of(question.url)['state']}"
    )
    with pytest.raises(AuthorizationUnavailable):
        world.refuse(client, used=renewed, attempts=attempts)
    world.user = None
    assert revealed(world.refuse(client, used=renewed, attempts=attempts)) == "access-5"


def test_a_client_can_refresh_although_nobody_can_register_any_more() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client)
    del world.server.metadata["registration_endpoint"]
    assert revealed(world.refuse(client, used=used)) == "access-3"
    assert revealed(world.run(client.log_in((), NOW))) == "access-5"
    assert len(world.server.registered) == 1


# --- scopes


def test_scopes_come_from_the_challenge_or_else_from_the_metadata_or_else_are_left_out() -> None:
    world = World(scopes_supported=["x", "y"])
    world.refuse(world.client(), 'Bearer scope="z"')
    world.store.clear()
    world.refuse(world.client())
    world.store.clear()
    assert world.resource is not None
    del world.resource["scopes_supported"]
    world.refuse(world.client())
    assert [asked.get("scope") for asked in world.server.authorized] == ["z", "x y", None]


def test_a_step_up_asks_for_what_was_had_and_what_is_needed() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client, 'Bearer scope="read"')
    more = world.refuse(
        client, 'Bearer error="insufficient_scope", scope="write"', status=403, used=used
    )
    assert [asked["scope"] for asked in world.server.authorized] == ["read", "read write"]
    assert more.scopes == ("read", "write")


def test_a_step_up_is_told_by_status_401_too() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client, 'Bearer scope="read"')
    world.refuse(client, 'Bearer scope="write"', used=used)
    assert world.server.authorized[-1]["scope"] == "read write"
    assert [form["grant_type"] for form in world.server.forms] == ["authorization_code"] * 2


def test_an_expired_token_is_refreshed_whatever_scopes_the_challenge_names() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client, 'Bearer scope="admin"')
    world.refuse(client, 'Bearer error="invalid_token", scope="read"', used=used)
    assert world.server.forms[-1]["grant_type"] == "refresh_token"


def test_a_server_that_is_never_content_ends_in_an_error_and_is_not_asked_again() -> None:
    world = World()
    client = world.client()
    attempts = Attempts()
    challenge = 'Bearer error="insufficient_scope", scope="admin"'
    world.server.extra = {"scope": "read"}
    used = world.refuse(client, 'Bearer scope="admin"', attempts=attempts)
    used = world.refuse(client, challenge, status=403, used=used, attempts=attempts)
    with pytest.raises(InsufficientScope, match="the scopes admin") as caught:
        world.refuse(client, challenge, status=403, used=used, attempts=attempts)
    assert caught.value.scopes == ("admin",)
    assert len(world.questions) == 2
    with pytest.raises(InsufficientScope):
        world.refuse(client, challenge, status=403, used=used)
    world.refuse(client, challenge, status=403, used=used, operation="tools/call other")
    assert len(world.questions) == 3


def test_a_server_that_always_wants_yet_another_scope_is_given_up() -> None:
    world = World()
    client = world.client()
    attempts = Attempts()
    used = world.refuse(client, attempts=attempts)
    for scope in "ab":
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
        used = world.refuse(client, challenge, status=403, used=used, attempts=attempts)
    challenge = 'Bearer error="insufficient_scope", scope="c"'
    with pytest.raises(InsufficientScope, match="did not help"):
        world.refuse(client, challenge, status=403, used=used, attempts=attempts)
    assert len(world.questions) == 3


def test_a_token_that_has_the_scopes_already_is_not_asked_for_again() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client, 'Bearer scope="admin"')
    with pytest.raises(InsufficientScope, match="the token has them"):
        world.refuse(
            client, 'Bearer error="insufficient_scope", scope="admin"', status=403, used=used
        )
    assert len(world.questions) == 1


def test_a_server_that_does_not_say_which_scopes_are_missing_is_asked_for_all_there_are() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client, 'Bearer scope="a"')
    assert world.resource is not None
    world.resource["scopes_supported"] = ["b", "c"]
    more = world.refuse(client, 'Bearer error="insufficient_scope"', status=403, used=used)
    assert more.scopes == ("a", "b", "c")
    with pytest.raises(InsufficientScope):
        world.refuse(client, 'Bearer error="insufficient_scope"', status=403, used=more)


def test_who_declines_more_scopes_is_not_asked_again_by_the_next_call() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client, 'Bearer scope="a"')
    world.user = lambda question: (
        f"?error=access_denied&iss={ISSUER}&state={query_of(question.url)['state']}"
    )
    challenge = 'Bearer error="insufficient_scope", scope="b"'
    with pytest.raises(AuthorizationRefused, match="access_denied"):
        world.refuse(client, challenge, status=403, used=used)
    with pytest.raises(InsufficientScope):
        world.refuse(client, challenge, status=403, used=used)
    world.user = None
    world.run(client.log_in((), NOW))
    assert world.refuse(client, challenge, status=403, used=used).scopes == ("a", "b")


def test_a_plain_no_of_the_server_is_final() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client)
    with pytest.raises(AuthorizationRefused, match="does not allow this"):
        world.refuse(client, "Bearer", status=403, used=used)
    assert len(world.questions) == 1


def test_a_client_registered_for_fewer_scopes_registers_anew_where_that_matters() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client, 'Bearer scope="a"')
    assert world.server.registered[0]["scope"] == "a"
    allowed = world.server.authorize

    def strict(question: object) -> str:
        fields = query_of(world.questions[-1].url)
        registered = world.server.registered[int(fields["client_id"][-1]) - 1]["scope"]
        if set(fields["scope"].split()) <= set(registered.split()):
            return allowed(world.questions[-1])
        return f"?error=invalid_scope&iss={ISSUER}&state={fields['state']}"

    world.user = strict
    more = world.refuse(
        client, 'Bearer error="insufficient_scope", scope="b"', status=403, used=used
    )
    assert (more.client_id, more.scopes) == ("client-2", ("a", "b"))


def test_offline_access_is_asked_for_only_where_it_is_known() -> None:
    world = World(AuthorizationServerScript(scopes_supported=["read", "offline_access"]))
    tokens = world.refuse(world.client(), 'Bearer scope="read"')
    assert world.server.authorized[0]["scope"] == "read offline_access"
    assert tokens.requested_scopes == ("read",)
    world.store.clear()
    world.refuse(world.client(wants_refresh_token=False), 'Bearer scope="read"')
    assert world.server.authorized[1]["scope"] == "read"
    other = World(AuthorizationServerScript(scopes_supported=["read"]))
    other.refuse(other.client(), 'Bearer scope="read"')
    assert other.server.authorized[0]["scope"] == "read"


# --- several authorization servers, one after the other


def test_another_authorization_server_never_sees_what_the_first_one_knows() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client)
    second = AuthorizationServerScript("https://as2.example")
    world.servers.append(second)
    assert world.resource is not None
    world.resource["authorization_servers"] = [second.issuer]
    before = len(world.requests)
    tokens = world.refuse(client, used=used)
    assert tokens.issuer == second.issuer
    assert len(second.registered) == 1
    assert not any(request.url.startswith(ISSUER) for request in world.requests[before:])
    assert [form["grant_type"] for form in second.forms] == ["authorization_code"]
    assert f"tokens {ISSUER} {SERVER}" not in world.store
    assert decoded(world, f"registration {ISSUER}")["issuer"] == ISSUER
    assert revealed(world.current(client)) == revealed(tokens)


def test_scopes_of_one_authorization_server_are_not_asked_of_another() -> None:
    world = World()
    client = world.client()
    used = world.refuse(client, 'Bearer scope="a"')
    second = AuthorizationServerScript("https://as2.example")
    world.servers.append(second)
    assert world.resource is not None
    world.resource["authorization_servers"] = [second.issuer]
    world.refuse(client, used=used)
    assert "scope" not in second.authorized[0]


def test_a_client_registered_by_hand_is_not_taken_to_another_authorization_server() -> None:
    given = PreRegistered(client_id="mine", client_secret=Secret("s3cret"))
    world = World(
        AuthorizationServerScript(token_endpoint_auth_methods_supported=["client_secret_post"])
    )
    client = world.client(given=given)
    used = world.refuse(client)
    assert world.server.forms[0]["client_secret"] == "s3cret"
    second = AuthorizationServerScript("https://as2.example")
    world.servers.append(second)
    assert world.resource is not None
    world.resource["authorization_servers"] = [second.issuer]
    with pytest.raises(RegistrationFailed, match=f"registered with {ISSUER}"):
        world.refuse(client, used=used)
    assert second.forms == second.authorized == []


def test_a_client_registered_with_a_named_issuer_is_used_nowhere_else() -> None:
    world = World()
    given = PreRegistered(client_id="mine", issuer="https://other.example")
    with pytest.raises(RegistrationFailed, match=r"registered with https://other\.example"):
        world.refuse(world.client(given=given))
    assert world.questions == []


def test_of_several_authorization_servers_the_one_that_knows_the_client_is_chosen() -> None:
    first, second = AuthorizationServerScript(), AuthorizationServerScript("https://as2.example")
    world = World(first, second)
    assert world.refuse(world.client()).issuer == ISSUER
    world = World(first, second)
    given = PreRegistered(client_id="mine", issuer=second.issuer)
    assert world.refuse(world.client(given=given)).issuer == second.issuer
    world.store = {
        key: value for key, value in world.store.items() if not key.startswith("registration")
    }
    assert world.refuse(world.client(given=given)).issuer == second.issuer
    world = World(first, second)
    world.store[f"registration {second.issuer}"] = json.dumps(
        {"issuer": second.issuer, "kind": "dynamic", "client_id": "x", "redirect_uris": [REDIRECT]}
    ).encode()
    tokens = world.refuse(world.client())
    assert (tokens.issuer, tokens.client_id) == (second.issuer, "x")


def test_two_servers_of_one_issuer_share_the_client_but_not_the_tokens() -> None:
    world = World()
    first = world.refuse(world.client())
    other = "https://other.example/mcp"
    metadata = "https://other.example/.well-known/oauth-protected-resource/mcp"
    world.documents[metadata] = json_response(
        {"resource": other, "authorization_servers": [ISSUER]}
    )
    client = world.client(other)
    assert world.current(client) is None
    second = world.refuse(client)
    assert second.resource == other
    assert second.client_id == first.client_id
    assert revealed(world.current(world.client())) == revealed(first)


# --- attacks


def test_a_redirect_of_an_earlier_log_in_is_not_taken_again() -> None:
    world = World()
    client = world.client()
    world.run(client.log_in((), NOW))
    old = f"{REDIRECT}?code=code-1&state={world.server.authorized[0]['state']}&iss={ISSUER}"
    world.user = lambda question: old
    spent = len(world.server.forms)
    with pytest.raises(AuthorizationUntrusted, match="its state is another"):
        world.run(client.log_in((), NOW))
    assert len(world.server.forms) == spent


def test_a_code_of_another_authorization_server_is_sent_nowhere() -> None:
    world = World()
    world.user = lambda question: (
        f"?code=stolen&iss=https://honest.example&state={query_of(question.url)['state']}"
    )
    with pytest.raises(AuthorizationUntrusted, match="another authorization server"):
        world.refuse(world.client())
    assert world.server.forms == []


def test_metadata_of_another_resource_stops_everything() -> None:
    world = World(resource="https://evil.example/mcp")
    with pytest.raises(AuthorizationUntrusted, match=r"names the resource https://evil\.example"):
        world.refuse(world.client())
    assert world.urls == [PRM]


def test_metadata_of_another_issuer_stops_everything() -> None:
    world = World()
    world.server.metadata["issuer"] = "https://honest.example"
    with pytest.raises(AuthorizationUntrusted, match=r"that of https://honest\.example"):
        world.refuse(world.client())
    assert (world.questions, world.server.registered) == ([], [])


@pytest.mark.parametrize("methods", [None, [], ["plain"]])
def test_an_authorization_server_without_s256_is_refused(methods: list[str] | None) -> None:
    world = World(AuthorizationServerScript(code_challenge_methods_supported=methods))
    with pytest.raises(AuthorizationUntrusted, match="PKCE"):
        world.refuse(world.client())
    assert (world.questions, world.server.registered) == ([], [])


def test_a_token_never_travels_in_the_clear() -> None:
    world = World()
    with pytest.raises(AuthorizationUntrusted, match="use https"):
        world.refuse(world.client("http://mcp.example/mcp"))
    assert world.requests == []


def test_tokens_that_somebody_put_into_the_wrong_place_are_not_used() -> None:
    world = World()
    world.refuse(world.client())
    key = f"tokens {ISSUER} {SERVER}"
    world.store[key] = world.store[key].replace(SERVER.encode(), b"https://other.example/mcp")
    assert world.current(world.client()) is None


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b'{"issuer":1}', b"\xff", b"[" * 100_000])
def test_a_store_that_is_damaged_counts_as_empty(junk: bytes) -> None:
    world = World()
    world.refuse(world.client())
    world.store = dict.fromkeys(world.store, junk)
    assert world.current(world.client()) is None
    assert world.refuse(world.client()).client_id == "client-2"


def test_no_secret_is_seen_in_any_step_or_error() -> None:
    world = World(
        AuthorizationServerScript(token_endpoint_auth_methods_supported=["client_secret_post"])
    )
    client = world.client(given=PreRegistered(client_id="me", client_secret=Secret("s3cret")))
    tokens = world.refuse(client)
    shown = repr([*world.requests, *world.questions, tokens])
    world.server.refusals = [
        refusal_of("invalid_client", 401, error_description="s3cret is not refresh-2")
    ]
    with pytest.raises(AuthorizationRefused) as caught:
        world.current(client, LATER)
    shown += f"{caught.value}{caught.value!r}"
    secrets = ["s3cret", "access-", "refresh-2", "code-1", world.server.forms[0]["code_verifier"]]
    secrets.append(world.server.authorized[0]["state"])
    assert [secret for secret in secrets if secret in shown] == []


# --- without a user


def test_a_client_that_acts_for_itself_gets_a_token_without_a_user() -> None:
    world = World(
        AuthorizationServerScript(
            token_endpoint_auth_methods_supported=["client_secret_basic"],
            code_challenge_methods_supported=None,
        ),
        scopes_supported=["job"],
    )
    given = PreRegistered(client_id="a:b", client_secret=Secret("c d"))
    client = world.client(way=ByClientCredentials(), given=given)
    tokens = world.refuse(client)
    assert world.server.forms == [
        {"grant_type": "client_credentials", "resource": SERVER, "scope": "job"}
    ]
    assert world.requests[-1].headers["authorization"] == "Basic YSUzQWI6Yytk"
    assert tokens.scopes == ("job",)
    assert (world.questions, world.server.registered) == ([], [])


def test_a_machine_does_not_register_itself() -> None:
    world = World()
    with pytest.raises(RegistrationFailed, match="give its client_id"):
        world.refuse(world.client(way=ByClientCredentials()))
    assert world.server.registered == []


def test_a_workload_shows_its_assertion_once_and_tries_nothing_else() -> None:
    world = World()
    world.assertions[ISSUER] = "jwt-of-the-platform"
    client = world.client(way=ByAssertion(), given=PreRegistered(client_id="job"))
    assert revealed(world.refuse(client)) == "access-1"
    (form,) = world.server.forms
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert (form["assertion"], form["client_id"]) == ("jwt-of-the-platform", "job")
    for error in ("invalid_grant", "invalid_scope", "unauthorized_client", "invalid_client"):
        world.store.clear()
        before = len(world.requests)
        world.server.refusals = [refusal_of(error)]
        with pytest.raises(AuthorizationRefused, match=error):
            world.refuse(client)
        assert [url for url in world.urls[before:] if url.endswith("/token")] == [f"{ISSUER}/token"]


def enterprise(world: World) -> ByIdentityProvider:
    world.assertions["https://idp.example"] = "id-token"
    return ByIdentityProvider(
        issuer="https://idp.example",
        token_endpoint="https://idp.example/token",
        client=PreRegistered(client_id="at-idp"),
    )


def test_an_identity_provider_speaks_for_its_user() -> None:
    world = World()
    id_jag = "urn:ietf:params:oauth:token-type:id-jag"
    world.documents["https://idp.example/token"] = json_response(
        {"access_token": "the-id-jag", "issued_token_type": id_jag, "token_type": "N_A"}
    )
    client = world.client(way=enterprise(world), given=PreRegistered(client_id="at-as"))
    world.refuse(client, 'Bearer scope="s"')
    exchange = [r for r in world.requests if r.url == "https://idp.example/token"]
    assert query_of("?" + exchange[0].body.decode()) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": id_jag,
        "subject_token": "id-token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": ISSUER,
        "resource": SERVER,
        "scope": "s",
        "client_id": "at-idp",
    }
    (form,) = world.server.forms
    assert (form["assertion"], form["client_id"]) == ("the-id-jag", "at-as")
    assert world.questions == []


def test_an_identity_provider_that_says_no_is_the_end_of_it() -> None:
    world = World()
    world.documents["https://idp.example/token"] = refusal_of("access_denied", 403)
    client = world.client(way=enterprise(world), given=PreRegistered(client_id="at-as"))
    with pytest.raises(AuthorizationRefused, match="access_denied"):
        world.refuse(client)
    assert (world.questions, world.server.forms) == ([], [])
    world.documents["https://idp.example/token"] = json_response(
        {"access_token": "not-that", "token_type": "Bearer"}
    )
    with pytest.raises(AuthorizationFailed, match="another token than was asked for"):
        world.refuse(client)
    assert world.server.forms == []


def test_an_identity_provider_is_reached_by_https() -> None:
    world = World()
    way = ByIdentityProvider(issuer="http://idp.example", client=PreRegistered(client_id="at-idp"))
    with pytest.raises(ValueError, match="not reached by https"):
        world.client(way=way)


# --- tokens bound to a key


class Proofs:
    """Makes proofs that tell what they were made for."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str, str | None]] = []

    def __call__(
        self, method: str, url: str, *, nonce: str | None, access_token: Secret | None
    ) -> Secret:
        assert access_token is None
        self.made.append((method, url, nonce))
        return Secret(f"proof-{len(self.made)}")


def test_a_token_is_bound_to_a_key_where_the_authorization_server_can_do_that() -> None:
    world = World(AuthorizationServerScript(dpop_signing_alg_values_supported=["ES256"]))
    world.server.extra = {"token_type": "DPoP"}
    proofs = Proofs()
    world.server.refusals = [
        json_response({"error": "use_dpop_nonce"}, 400, DPoP_Nonce="n1"),
    ]
    client = world.client(proof=proofs)
    tokens = world.refuse(client)
    assert tokens.token_type == "DPoP"
    assert proofs.made == [("POST", f"{ISSUER}/token", None), ("POST", f"{ISSUER}/token", "n1")]
    assert [r.headers.get("dpop") for r in world.requests if r.url.endswith("/token")] == [
        "proof-1",
        "proof-2",
    ]
    world.current(client, LATER)
    assert len(proofs.made) == 3
    assert world.current(world.client(), NOW) is None


def test_a_token_that_is_not_bound_although_it_should_be_is_not_used() -> None:
    world = World(AuthorizationServerScript(dpop_signing_alg_values_supported=["ES256"]))
    with pytest.raises(AuthorizationUntrusted, match="of the type bearer, not dpop"):
        world.refuse(world.client(proof=Proofs()))
    assert f"tokens {ISSUER} {SERVER}" not in world.store
    world = World()
    proofs = Proofs()
    assert world.refuse(world.client(proof=proofs)).token_type == "Bearer"
    assert proofs.made == []


# --- servers of 2025-03-26


def test_a_server_without_any_metadata_has_its_endpoints_where_they_always_were() -> None:
    world = World(AuthorizationServerScript("https://mcp.example"))
    world.resource = None
    world.servers[0].well_known = lambda: ()  # type: ignore[method-assign]
    world.user = lambda question: world.server.authorize(question).replace(
        "&iss=https%3A%2F%2Fmcp.example", ""
    )
    tokens = world.refuse(world.client())
    root = "https://mcp.example"
    assert world.urls == [
        f"{root}/.well-known/oauth-protected-resource/mcp",
        f"{root}/.well-known/oauth-protected-resource",
        f"{root}/.well-known/oauth-authorization-server",
        f"{root}/.well-known/openid-configuration",
        f"{root}/register",
        f"{root}/token",
    ]
    assert world.questions[0].url.startswith(f"{root}/authorize?")
    assert (tokens.issuer, tokens.resource) == (root, SERVER)
    assert all(r.headers["mcp-protocol-version"] == "2026-07-28" for r in world.requests[:4])


# --- logging out


def test_logging_out_forgets_the_tokens_and_says_so() -> None:
    world = World(AuthorizationServerScript(revocation_endpoint=f"{ISSUER}/revoke"))
    client = world.client()
    world.refuse(client)
    known, tokens = world.run(client.kept())
    assert known is not None
    assert tokens is not None
    world.run(client.log_out())
    assert f"tokens {ISSUER} {SERVER}" not in world.store
    assert f"registration {ISSUER}" in world.store
    revoked = [query_of("?" + r.body.decode()) for r in world.requests if "revoke" in r.url]
    assert [form["token"] for form in revoked] == ["refresh-2", "access-2"]
    assert world.current(client) is None
    world.run(client.log_out(forget_client=True))
    assert f"registration {ISSUER}" not in world.store


def test_logging_out_where_nobody_was_logged_in_does_nothing() -> None:
    world = World()
    world.run(world.client().log_out())
    assert world.requests == []
    assert world.run(world.client().kept()) == (None, None)


def test_all_flows_of_a_server_have_one_lock() -> None:
    world = World()
    assert world.client().lock_name == world.client(f"{SERVER}/?key=1").lock_name == SERVER


def test_settings_that_make_no_sense_are_refused_at_once() -> None:
    world = World()
    with pytest.raises(ValueError, match="begin with https"):
        world.client("ftp://mcp.example")
    with pytest.raises(ValueError, match="has a path"):
        world.client(document_url="https://app.example")

import pytest

from tests.unit.oauth.world import ISSUER, NOW, REDIRECT, SERVER, AuthorizationServerScript, World
from wigwag.errors import AuthorizationFailed, AuthorizationUntrusted, RegistrationFailed
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.obtaining import (
    ByUser,
    ClientSettings,
    Obtainer,
    Place,
    identify,
    obtain_tokens,
    proof_for,
)
from wigwag.oauth.registration import ClientMetadata, PreRegistered
from wigwag.oauth.scopes import Scopes
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Registration, Tokens, keep_registration
from wigwag.oauth.urls import read_url

METADATA = ClientMetadata(client_name="Testing")
DOCUMENT = "https://app.example/client.json"


def place(world: World, **changes: object) -> Place:
    server = AuthorizationServer(
        **{  # type: ignore[arg-type]
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "registration_endpoint": f"{ISSUER}/register",
            "code_challenge_methods_supported": ("S256",),
            "token_endpoint_auth_methods_supported": ("none",),
            **changes,
        }
    )
    return Place(mcp_server=read_url(SERVER), resource=SERVER, server=server)


def obtain(world: World, settings: ClientSettings, at: Place, scopes: Scopes = ()) -> Tokens:
    return world.run(obtain_tokens(Obtainer(settings, at, world.entropy, NOW), scopes))


def test_a_client_with_a_metadata_document_is_its_url() -> None:
    world = World()
    settings = ClientSettings(
        client=METADATA, document_url=DOCUMENT, way=ByUser(redirect_uris=(REDIRECT,))
    )
    tokens = obtain(world, settings, place(world, client_id_metadata_document_supported=True))
    assert tokens.client_id == DOCUMENT
    assert world.server.authorized[0]["client_id"] == DOCUMENT
    assert world.server.forms[0]["client_id"] == DOCUMENT
    assert world.listened[0].registered == (REDIRECT,)
    assert (world.server.registered, world.store) == ([], {})


def test_a_client_registered_by_hand_prefers_the_redirect_it_was_registered_with() -> None:
    world = World()
    given = PreRegistered(client_id="me", redirect_uris=("http://127.0.0.1:1/a",))
    settings = ClientSettings(
        client=METADATA, given=given, way=ByUser(redirect_uris=("http://127.0.0.1:2/b",))
    )
    obtain(world, settings, place(world))
    assert world.listened[0].registered == ("http://127.0.0.1:1/a",)
    assert world.server.registered == []


def test_a_client_that_registers_itself_asks_for_all_that_the_resource_has() -> None:
    world = World()
    at = place(world)
    at = Place(
        mcp_server=at.mcp_server, resource=SERVER, server=at.server, scopes_supported=("r", "w")
    )
    obtain(world, ClientSettings(client=METADATA), at, ("x", "r"))
    assert world.server.registered[0]["scope"] == "x r w"
    assert world.server.authorized[0]["scope"] == "x r"


def test_the_registration_is_kept_before_the_user_is_asked() -> None:
    world = World()
    world.user = lambda question: "?error=access_denied"
    with pytest.raises(AuthorizationUntrusted):
        obtain(world, ClientSettings(client=METADATA), place(world))
    assert sorted(world.store) == [f"client {ISSUER} client-1", f"registration {ISSUER}"]


@pytest.mark.parametrize("uri", ["http://app.example/callback", "app:callback", "http://10.0.0.1/"])
def test_the_code_does_not_come_back_over_the_open_network(uri: str) -> None:
    world = World()
    world.redirect_uri = uri
    with pytest.raises(ValueError):  # noqa: PT011 - each for its own reason
        obtain(world, ClientSettings(client=METADATA), place(world))
    assert (world.requests, world.questions) == ([], [])


def test_a_secret_that_has_expired_is_replaced_by_a_new_registration() -> None:
    world = World()
    old = Registration(
        issuer=ISSUER,
        kind="dynamic",
        client_id="old",
        client_secret=Secret("s"),
        client_secret_expires_at=NOW - 1,
        redirect_uris=(REDIRECT,),
    )
    world.run(keep_registration(old))
    assert obtain(world, ClientSettings(client=METADATA), place(world)).client_id == "client-1"


def test_who_the_client_is_can_be_asked_without_registering() -> None:
    world = World()
    settings = ClientSettings(client=METADATA)
    assert world.run(identify(settings, place(world), NOW)) is None
    obtain(world, settings, place(world))
    known = world.run(identify(settings, place(world), NOW))
    assert known is not None
    assert known.client_id == "client-1"
    assert world.run(identify(settings, place(world), NOW, client_id="client-1")) == known
    assert world.run(identify(settings, place(world), NOW, client_id="other")) is None
    alone = place(world, registration_endpoint=None)
    assert world.run(identify(settings, alone, NOW)) == known
    world.store.clear()
    with pytest.raises(RegistrationFailed):
        world.run(identify(settings, alone, NOW))


def test_the_user_is_not_asked_without_pkce_or_a_place_to_ask() -> None:
    world = World()
    settings = ClientSettings(client=METADATA)
    with pytest.raises(AuthorizationUntrusted, match="PKCE"):
        obtain(world, settings, place(world, code_challenge_methods_supported=("plain",)))
    assert world.requests == []
    with pytest.raises(AuthorizationFailed, match="does not ask users"):
        obtain(world, settings, place(world, authorization_endpoint=None))
    assert world.questions == []


def test_the_question_says_who_asks_for_what() -> None:
    world = World()
    obtain(world, ClientSettings(client=METADATA), place(world))
    (question,) = world.questions
    assert (question.issuer, question.resource, question.redirect_uri) == (ISSUER, SERVER, REDIRECT)


def make_proof(method: str, url: str, *, nonce: str | None, access_token: Secret | None) -> Secret:
    return Secret(f"{method} {url} {nonce} {access_token}")


def test_proofs_are_made_where_one_side_asks_for_them() -> None:
    world = World(AuthorizationServerScript())
    settings = ClientSettings(client=METADATA, proof=make_proof)
    assert proof_for(settings, place(world)) is None
    assert proof_for(settings, place(world, dpop_signing_alg_values_supported=())) is None
    known = place(world, dpop_signing_alg_values_supported=("ES256",))
    assert proof_for(settings, known) is make_proof
    assert proof_for(ClientSettings(client=METADATA), known) is None
    needed = Place(
        mcp_server=known.mcp_server, resource=SERVER, server=place(world).server, needs_proof=True
    )
    assert proof_for(settings, needed) is make_proof

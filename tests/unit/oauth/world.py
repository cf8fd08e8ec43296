"""A scripted world for the flows: authorization servers, a store and a user, all without I/O."""

import base64
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from wigwag.oauth.attempts import Attempts, Refusal
from wigwag.oauth.flow import ClientAuthorization
from wigwag.oauth.obtaining import ClientSettings
from wigwag.oauth.registration import ClientMetadata
from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.oauth.secret import Secret
from wigwag.oauth.steps import (
    Answer,
    AskUser,
    Flow,
    ListenForRedirect,
    Load,
    NeedAssertion,
    Save,
    Step,
)
from wigwag.oauth.storage import Tokens

T = TypeVar("T")

SERVER = "https://mcp.example/mcp"
PRM = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
ISSUER = "https://as.example"
REDIRECT = "http://127.0.0.1:7777/callback"
NOW = 1_000_000.0


def json_response(document: object, status: int = 200, **headers: str) -> HttpResponse:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpResponse(status, pairs, json.dumps(document).encode(), NOW)


def fields_of(request: HttpRequest) -> dict[str, str]:
    return dict(parse_qsl(request.body.decode(), keep_blank_values=True))


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(url.partition("?")[2], keep_blank_values=True))


class AuthorizationServerScript:
    """Plays an authorization server: registers, asks, issues and rotates."""

    def __init__(self, issuer: str = ISSUER, **changes: Any) -> None:
        self.issuer = issuer
        self.metadata: dict[str, Any] = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
            **changes,
        }
        self.metadata = {key: value for key, value in self.metadata.items() if value is not None}
        self.codes: dict[str, dict[str, str]] = {}
        self.refresh_tokens: set[str] = set()
        self.clients: list[str] = []
        self.registered: list[dict[str, Any]] = []
        self.authorized: list[dict[str, str]] = []
        self.forms: list[dict[str, str]] = []
        self.refusals: list[HttpResponse] = []
        """What the token endpoint answers first, instead of what it should."""
        self.extra: dict[str, Any] = {}
        """What its token responses have besides."""
        self.count = 0

    def answer(self, request: HttpRequest) -> HttpResponse | None:
        if request.url in self.well_known():
            return json_response(self.metadata)
        if request.url == self.metadata.get("registration_endpoint"):
            return self.register(json.loads(request.body))
        if request.url == self.metadata.get("token_endpoint"):
            return self.token(request)
        return None

    def well_known(self) -> tuple[str, ...]:
        return (f"{self.issuer}/.well-known/oauth-authorization-server",)

    def register(self, wanted: dict[str, Any]) -> HttpResponse:
        self.registered.append(wanted)
        client_id = f"client-{len(self.registered)}"
        self.clients.append(client_id)
        return json_response({**wanted, "client_id": client_id}, 201)

    def authorize(self, question: AskUser) -> str:
        """Consent as the user would, and return the redirect."""
        fields = query_of(question.url)
        self.authorized.append(fields)
        self.count += 1
        code = f"code-{self.count}"
        self.codes[code] = fields
        answer = {"code": code, "state": fields["state"], "iss": self.issuer}
        return f"{fields['redirect_uri']}?{urlencode(answer)}"

    def token(self, request: HttpRequest) -> HttpResponse:
        form = fields_of(request)
        self.forms.append(form)
        if self.refusals:
            return self.refusals.pop(0)
        problem = getattr(self, f"check_{form['grant_type'].rpartition(':')[2].replace('-', '_')}")
        error = problem(form)
        return json_response({"error": error}, 400) if error else self.issue(form)

    def check_authorization_code(self, form: dict[str, str]) -> str | None:
        asked = self.codes.pop(form["code"], None)
        if asked is None:
            return "invalid_grant"
        digest = sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if challenge != asked["code_challenge"]:
            return "invalid_grant"
        same = ("redirect_uri", "resource")
        return None if all(form[name] == asked[name] for name in same) else "invalid_request"

    def check_refresh_token(self, form: dict[str, str]) -> str | None:
        if form["refresh_token"] not in self.refresh_tokens:
            return "invalid_grant"
        self.refresh_tokens.remove(form["refresh_token"])
        return None

    def check_client_credentials(self, form: dict[str, str]) -> str | None:
        return None if form["resource"] else "invalid_target"

    def check_jwt_bearer(self, form: dict[str, str]) -> str | None:
        return None if form["assertion"] else "invalid_grant"

    def issue(self, form: dict[str, str]) -> HttpResponse:
        self.count += 1
        refresh_token = f"refresh-{self.count}"
        self.refresh_tokens.add(refresh_token)
        return json_response(
            {
                "access_token": f"access-{self.count}",
                "token_type": "Bearer",
                "expires_in": 3600,
                "refresh_token": refresh_token,
                **self.extra,
            }
        )


class World:
    """Runs flows: does each step as the scripts say, and remembers what was done."""

    def __init__(self, *servers: AuthorizationServerScript, **resource: Any) -> None:
        self.servers = list(servers) or [AuthorizationServerScript()]
        self.resource: dict[str, Any] | None = {
            "resource": SERVER,
            "authorization_servers": [server.issuer for server in self.servers],
            **resource,
        }
        self.documents: dict[str, HttpResponse] = {}
        """What is answered under a URL, whatever the scripts say."""
        self.user: Callable[[AskUser], str] | None = None
        self.assertions: dict[str, str] = {}
        self.store: dict[str, bytes] = {}
        self.requests: list[HttpRequest] = []
        self.questions: list[AskUser] = []
        self.listened: list[ListenForRedirect] = []
        self.redirect_uri = REDIRECT
        self.drawn = 0

    @property
    def server(self) -> AuthorizationServerScript:
        return self.servers[0]

    @property
    def urls(self) -> list[str]:
        return [request.url for request in self.requests]

    def entropy(self, count: int) -> bytes:
        self.drawn += 1
        return sha256(str(self.drawn).encode()).digest()[:count]

    def client(self, url: str = SERVER, **settings: Any) -> ClientAuthorization:
        whole = ClientSettings(client=ClientMetadata(client_name="Testing"), **settings)
        return ClientAuthorization(url, whole, entropy=self.entropy)

    def run(self, flow: Flow[T]) -> T:
        answer: Answer = None
        while True:
            try:
                step = flow.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            answer = self.do(step)

    def do(self, step: Step) -> Answer:
        match step:
            case HttpRequest():
                self.requests.append(step)
                return self.respond(step)
            case ListenForRedirect():
                self.listened.append(step)
                return self.redirect_uri
            case AskUser():
                self.questions.append(step)
                return (self.user or self.consent)(step)
            case NeedAssertion():
                return Secret(self.assertions[step.audience])
            case Load():
                return self.store.get(step.key)
            case Save(value=None):
                self.store.pop(step.key, None)
            case Save(value=bytes(value)):
                self.store[step.key] = value
        return None

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.url in self.documents:
            return self.documents[request.url]
        if request.url == PRM and self.resource is not None:
            return json_response(self.resource)
        for server in self.servers:
            response = server.answer(request)
            if response is not None:
                return response
        return HttpResponse(404, (), b"no such page", NOW)

    def consent(self, question: AskUser) -> str:
        (server,) = [s for s in self.servers if question.url.startswith(f"{s.issuer}/")]
        return server.authorize(question)

    # --- what tests do again and again

    def refuse(
        self,
        client: ClientAuthorization,
        challenge: str = "Bearer",
        *,
        status: int = 401,
        used: Tokens | None = None,
        attempts: Attempts | None = None,
        operation: str = "tools/list",
        now: float = NOW,
    ) -> Tokens:
        """Let the MCP server refuse a request, and return the tokens to repeat it with."""
        refusal = Refusal(status=status, challenges=(challenge,), used=used, operation=operation)
        return self.run(client.refused(refusal, attempts or Attempts(), now))

    def current(self, client: ClientAuthorization, now: float = NOW) -> Tokens | None:
        return self.run(client.current(now))


def refusal_of(error: str, status: int = 400, **members: Any) -> HttpResponse:
    return json_response({"error": error, **members}, status)


def revealed(tokens: Tokens | None) -> str | None:
    return None if tokens is None else tokens.access_token.reveal()

"""The official Python SDK, second line: a server that wants tokens."""

import jwt
import protected
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

listener, URL = protected.listen()
keys = jwt.PyJWKClient(protected.keys_of(protected.ISSUER))


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            key = keys.get_signing_key_from_jwt(token).key
            claims = jwt.decode(
                token, key, [protected.ALGORITHM], audience=URL, issuer=protected.ISSUER
            )
        except jwt.PyJWTError:
            return None
        return AccessToken(
            token=token,
            client_id=claims["client_id"],
            scopes=claims.get("scope", "").split(),
            expires_at=claims["exp"],
            resource=claims["aud"],
            subject=claims["sub"],
        )


app = MCPServer(
    "protected",
    log_level="ERROR",
    token_verifier=Verifier(),
    auth=AuthSettings(
        issuer_url=protected.ISSUER,
        resource_server_url=URL,
        required_scopes=[protected.SCOPE],
        validate_token_resource=True,
    ),
)


@app.tool()
def whoami() -> str:
    token = get_access_token()
    return protected.caller(token.subject, token.client_id, token.scopes)


protected.serve(app.streamable_http_app(), listener, URL)

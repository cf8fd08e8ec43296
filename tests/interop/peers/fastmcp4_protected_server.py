"""FastMCP: a server that wants tokens."""

import protected
from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token

listener, URL = protected.listen()
verifier = JWTVerifier(
    jwks_uri=protected.keys_of(protected.ISSUER),
    issuer=protected.ISSUER,
    audience=URL,
    algorithm=protected.ALGORITHM,
    required_scopes=[protected.SCOPE],
)
app = FastMCP(
    "protected",
    auth=RemoteAuthProvider(verifier, [protected.ISSUER], base_url=URL.removesuffix("/mcp")),
)


@app.tool
def whoami() -> str:
    token = get_access_token()
    return protected.caller(token.claims["sub"], token.client_id, token.scopes)


protected.serve(app.http_app(), listener, URL)

"""Wigwag: a server that wants tokens, as `protected.py` says, with one more tool.

It is called with the issuer and, where it is to differ, the options of its protection in JSON.
`introspection` among them are the options of an `IntrospectionVerifier`, by which tokens are known
that are no JWTs.
"""

import json
import sys
from typing import Any

from wigwag import Context, IntrospectionVerifier, Protection, Server

issuer = sys.argv[1]
options: dict[str, Any] = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
introspection = options.pop("introspection", None)
verifier = issuer if introspection is None else IntrospectionVerifier(issuer, **introspection)
app = Server("protected", auth=Protection(verifier, scopes=["notes:read"], **options))


@app.tool
def whoami(ctx: Context) -> dict[str, Any]:
    """Who calls."""
    caller = ctx.principal
    assert caller is not None
    return {
        "subject": caller.subject,
        "client": caller.claims["client_id"],
        "scopes": sorted(caller.scopes),
        "is_bound": "cnf" in caller.claims,
    }


@app.tool(scopes=["notes:write"])
def write() -> str:
    """What not everybody may do."""
    return "written"


if __name__ == "__main__":
    app.run("http", host="127.0.0.1", port=0)

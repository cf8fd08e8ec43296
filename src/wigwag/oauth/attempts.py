"""How often a token may be asked for on behalf of one request, and when asking is of no use.

Spec: basic/authorization#step-up-authorization-flow
"""

from __future__ import annotations

from typing import Final

import msgspec

from wigwag.errors import AuthorizationRefused, InsufficientScope
from wigwag.oauth.challenges import Demand
from wigwag.oauth.requests import told
from wigwag.oauth.scopes import FailedStepUps, Scopes, write_scopes
from wigwag.oauth.storage import Tokens

__all__ = ["Attempts", "Refusal", "check_refusal", "check_step_up", "is_step_up"]

_MAX_GRANTS: Final = 3


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A response of the MCP server that says that a request needs other authorization.

    Args:
        status: 401 or 403.
        challenges: The lines of its `WWW-Authenticate` header.
        used: The tokens that were sent; `None` if there were none.
        operation: What the request was to do, such as `tools/call get_ticket`: what is refused for
            good is refused for that.
    """

    status: int
    challenges: tuple[str, ...] = ()
    used: Tokens | None = None
    operation: str = ""


class Attempts(msgspec.Struct):
    """What has been tried for one request; made anew for each, and kept while it is repeated."""

    has_refreshed: bool = False
    grants: int = 0
    challenged: set[Scopes] = msgspec.field(default_factory=set)


def is_step_up(demand: Demand, refusal: Refusal) -> bool:
    """Tell whether the token is good, and only does not allow enough.

    Some servers say so with status 401 and the scopes alone.
    """
    if demand.is_about_scope:
        return True
    if refusal.used is None or demand.scopes is None or demand.error is not None:
        return False
    return not set(demand.scopes) <= set(refusal.used.scopes)


def check_refusal(refusal: Refusal, demand: Demand, attempts: Attempts, where: str) -> None:
    """Check that another token may help.

    Raises:
        AuthorizationRefused: The server says no, or does not accept tokens made for it.
    """
    description = told(demand.error_description)
    said = f": {description}" if description else ""
    if refusal.status != 401 and not demand.is_about_scope:
        raise AuthorizationRefused(
            f"the MCP server does not allow this{said}",
            where,
            "another account may be allowed to",
            demand.error or "",
        )
    if attempts.grants and not is_step_up(demand, refusal):
        raise AuthorizationRefused(
            f"the MCP server does not accept the token that was just issued for it{said}",
            where,
            "tell its operator: audience, issuer or keys may not fit",
            demand.error or "",
        )


def check_step_up(
    refusal: Refusal, wanted: Scopes, attempts: Attempts, failed: FailedStepUps, where: str
) -> None:
    """Check that asking for more scopes may help, and note that it is tried.

    Args:
        refusal: What the server said.
        wanted: The scopes that it needs, as far as it says so.
        attempts: What was tried for this request.
        failed: What was tried for other requests.
        where: The resource.

    Raises:
        InsufficientScope: It cannot, or has been tried.
    """
    used = refusal.used
    is_held = used is not None and set(wanted) <= set(used.scopes)
    is_repeated = wanted in attempts.challenged or attempts.grants >= _MAX_GRANTS
    if is_held or is_repeated or failed.has(where, refusal.operation, wanted):
        failed.add(where, refusal.operation, wanted)
        named = f"the scopes {write_scopes(wanted)}" if wanted else "more scopes"
        raise InsufficientScope(
            f"the MCP server says that this needs {named}, and asking for a token with them "
            f"{'is of no use: the token has them' if is_held and wanted else 'did not help'}",
            where,
            "another account may be allowed to",
            wanted,
        )
    attempts.challenged.add(wanted)

"""What a server that refuses wants instead: writing `WWW-Authenticate`.

Spec: basic/authorization#protected-resource-metadata-discovery-requirements, and RFC 6750 section 3
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from wigwag.oauth.credentials import Scheme
from wigwag.oauth.scopes import Scopes, join_scopes, write_scopes

__all__ = ["write_challenges"]

# What neither ends a quoted string nor a header (RFC 6750 section 3 allows no more).
_not_quotable: Final = re.compile(r"[^ !#-\[\]-~]+")


def write_challenges(
    schemes: Sequence[Scheme],
    *,
    resource_metadata: str | None = None,
    scopes: Scopes = (),
    error: str | None = None,
    error_description: str | None = None,
    used: Scheme | None = None,
    algorithms: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the values of `WWW-Authenticate`, a line each.

    >>> write_challenges(["Bearer"], scopes=("a", "b"), error="insufficient_scope")
    ('Bearer error="insufficient_scope", scope="a b"',)

    Args:
        schemes: How a token may be sent, the usual way first.
        resource_metadata: The URL of the metadata of the server.
        scopes: What the request needs.
        error: What is wrong with the token that was sent, if one was.
        error_description: The same in words.
        used: How that token was sent; only that scheme says what is wrong, if it is one of them.
        algorithms: What proofs may be signed with.
    """
    at_fault = used if used in schemes else schemes[0]
    lines: list[str] = []
    for scheme in schemes:
        is_at_fault = scheme == at_fault
        parameters = (
            ("error", error if is_at_fault else None),
            ("error_description", error_description if is_at_fault else None),
            ("scope", write_scopes(join_scopes(scopes))),
            ("resource_metadata", resource_metadata),
            ("algs", " ".join(algorithms) if scheme == "DPoP" else None),
        )
        written = ", ".join(f'{name}="{_quotable(text)}"' for name, text in parameters if text)
        lines.append(f"{scheme} {written}".rstrip())
    return tuple(lines)


def _quotable(text: str) -> str:
    """Return a text without what could end the string or the header that it stands in."""
    return _not_quotable.sub(" ", text.replace('"', "'")).strip()

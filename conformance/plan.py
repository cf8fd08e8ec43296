"""Which scenarios are run, in which revision: nothing that is listed here may be missing.

What the suite has beside these are extensions that belong to no revision: tasks and skills. Those
of authorization are run in the revisions that the suite itself runs them in.
"""

from typing import Final

_EVERYWHERE: Final = (
    "completion-complete",
    "prompts-get-embedded-resource",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-with-image",
    "prompts-list",
    "resources-list",
    "resources-read-binary",
    "resources-read-text",
    "resources-templates-read",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-simple-text",
    "tools-call-with-progress",
    "tools-list",
)
_SINCE_2025_11_25: Final = (
    "dns-rebinding-protection",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
)
_LEGACY: Final = (
    "logging-set-level",
    "ping",
    "resources-subscribe",
    "resources-unsubscribe",
    "server-initialize",
    "server-session-lifecycle",
    "tools-call-elicitation",
    "tools-call-sampling",
    "tools-call-with-logging",
)

SERVER: Final[dict[str, tuple[str, ...]]] = {
    "2025-03-26": ("server-session-lifecycle",),
    "2025-06-18": (*_EVERYWHERE, *_LEGACY),
    "2025-11-25": (
        *_EVERYWHERE,
        *_SINCE_2025_11_25,
        *_LEGACY,
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "server-sse-polling",
    ),
    "2026-07-28": (
        *_EVERYWHERE,
        *_SINCE_2025_11_25,
        "caching",
        "http-custom-header-server-validation",
        "http-header-validation",
        "input-required-result-basic-elicitation",
        "input-required-result-basic-list-roots",
        "input-required-result-basic-sampling",
        "input-required-result-capability-check",
        "input-required-result-ignore-extra-params",
        "input-required-result-missing-input-response",
        "input-required-result-multi-round",
        "input-required-result-multiple-input-requests",
        "input-required-result-non-tool-request",
        "input-required-result-request-state",
        "input-required-result-result-type",
        "input-required-result-tampered-state",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
        "sep-2164-resource-not-found",
        "server-stateless",
    ),
}

_TOKEN_ENDPOINT_AUTH: Final = (
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-post",
)
_AUTH: Final = (
    *_TOKEN_ENDPOINT_AUTH,
    "auth/basic-cimd",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/pre-registration",
    "auth/scope-from-scopes-supported",
    "auth/scope-from-www-authenticate",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
)
_AUTH_EXTENSIONS: Final = (
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
)

CLIENT: Final[dict[str, tuple[str, ...]]] = {
    "2025-03-26": (
        "auth/2025-03-26-oauth-endpoint-fallback",
        "auth/2025-03-26-oauth-metadata-backcompat",
    ),
    "2025-06-18": (*_TOKEN_ENDPOINT_AUTH, "initialize", "tools_call"),
    "2025-11-25": (
        *_AUTH,
        *_AUTH_EXTENSIONS,
        "elicitation-sep1034-client-defaults",
        "initialize",
        "json-schema-2020-12-preservation",
        "sse-retry",
        "tools_call",
    ),
    "2026-07-28": (
        *_AUTH,
        *_AUTH_EXTENSIONS,
        "auth/authorization-server-migration",
        "auth/iss-normalized",
        "auth/iss-not-advertised",
        "auth/iss-supported",
        "auth/iss-supported-missing",
        "auth/iss-unexpected",
        "auth/iss-wrong-issuer",
        "auth/metadata-issuer-mismatch",
        "auth/offline-access-not-supported",
        "auth/offline-access-scope",
        "auth/resource-mismatch",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "http-standard-headers",
        "json-schema-2020-12-preservation",
        "json-schema-ref-no-deref",
        "request-metadata",
        "sep-2322-client-request-state",
        "tools_call",
    ),
}

EXTENDED: Final = ("2025-11-25", "2026-07-28")
"""The revisions in which extensions are run."""

NOT_OURS: Final = ("sep-2640-", "tasks-")
"""Beginnings of the names of scenarios that are left out."""

SKIPPED: Final = {
    # Headers of `initialize` and its notification, which a modern client never sends.
    "http-standard-headers": 2,
}
"""How many checks a scenario may skip; all others, none."""

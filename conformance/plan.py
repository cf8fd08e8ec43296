"""Which scenarios are run, in which revision: nothing that is listed here may be missing.

What the suite has beside these is about authorization (`auth/…`) or an extension that belongs to no
revision (tasks, skills).
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

CLIENT: Final[dict[str, tuple[str, ...]]] = {
    "2025-03-26": (),
    "2025-06-18": ("initialize", "tools_call"),
    "2025-11-25": (
        "elicitation-sep1034-client-defaults",
        "initialize",
        "json-schema-2020-12-preservation",
        "sse-retry",
        "tools_call",
    ),
    "2026-07-28": (
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

NOT_OURS: Final = ("auth/",)
"""Beginnings of the names of scenarios that are left out."""

SKIPPED: Final = {
    # Headers of `initialize` and its notification, which a modern client never sends.
    "http-standard-headers": 2,
}
"""How many checks a scenario may skip; all others, none."""

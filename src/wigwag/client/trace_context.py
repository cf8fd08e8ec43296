"""The trace that a program is in, by the keys that `_meta` has for it. Spec: basic#meta."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["LOADED_BY_TRACERS", "with_trace"]

LOADED_BY_TRACERS: Final = "opentelemetry.trace"
"""The module that is loaded in programs that trace; in others there is nothing to look for."""

_KEYS: Final = ("traceparent", "tracestate", "baggage")


def with_trace(meta: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return members for `_meta` with those of the current span and baggage of OpenTelemetry.

    What is there already prevails. Without a span, nothing is added.
    """
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra, and loaded already
        from opentelemetry.baggage.propagation import W3CBaggagePropagator  # noqa: PLC0415
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )
    except ImportError:  # something else of that name
        return meta
    if not trace.get_current_span().get_span_context().is_valid:
        return meta
    found: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(found)
    W3CBaggagePropagator().inject(found)
    given = meta or {}
    if "traceparent" in given:  # which what goes with another would contradict
        found.pop("tracestate", None)
    return {**{key: found[key] for key in _KEYS if key in found}, **given}

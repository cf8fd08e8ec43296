"""The trace that a request is part of, by the keys that `_meta` has for it. Spec: basic#meta."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from msgspec import Struct


class TraceContext(Struct, frozen=True):
    """What W3C Trace Context and Baggage put into headers; MCP carries it in `_meta`.

    Attributes:
        traceparent: The trace and the span that the request was made in.
        tracestate: What tracing systems add to that.
        baggage: What else travels with the trace.
    """

    traceparent: str | None = None
    tracestate: str | None = None
    baggage: str | None = None

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Self:
        """Read it from the `_meta` of a request; what is no text is not there."""
        return cls(*(_text(meta.get(name)) for name in cls.__struct_fields__))

    def __bool__(self) -> bool:
        """Whether the request is part of a trace."""
        return self.traceparent is not None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None

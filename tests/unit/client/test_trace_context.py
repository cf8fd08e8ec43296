"""The trace that a program is in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("opentelemetry.trace")

from opentelemetry import baggage, context, trace
from opentelemetry.trace.span import TraceState

from wigwag.client.trace_context import LOADED_BY_TRACERS, with_trace

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@contextmanager
def span(*, trace_id: int = 0x0AF7651916CD43DD8448EB211C80319C) -> Iterator[None]:
    """Be in a span."""
    found = trace.SpanContext(
        trace_id,
        0xB7AD6B7169203331,
        is_remote=False,
        trace_flags=trace.TraceFlags(1),
        trace_state=TraceState([("vendor", "x")]),
    )
    with trace.use_span(trace.NonRecordingSpan(found)):
        token = context.attach(baggage.set_baggage("tenant", "a b"))
        try:
            yield
        finally:
            context.detach(token)


def test_the_name_is_that_of_what_tracers_load() -> None:
    assert trace.__name__ == LOADED_BY_TRACERS


@pytest.mark.parametrize("meta", [None, {"a": 1}])
def test_a_span_is_told_with_what_goes_with_it(meta: Any) -> None:
    with span():
        assert with_trace(meta) == {
            **(meta or {}),
            "traceparent": TRACEPARENT,
            "tracestate": "vendor=x",
            "baggage": "tenant=a+b",
        }


@pytest.mark.parametrize("meta", [None, {"a": 1}])
def test_without_a_span_nothing_is_told(meta: Any) -> None:
    assert with_trace(meta) == meta
    with span(trace_id=0):
        assert with_trace(meta) == meta


def test_what_the_caller_gives_prevails() -> None:
    with span():
        assert with_trace({"baggage": "mine=1"}) == {
            "traceparent": TRACEPARENT,
            "tracestate": "vendor=x",
            "baggage": "mine=1",
        }
        assert with_trace({"traceparent": "other"}) == {
            "traceparent": "other",
            "baggage": "tenant=a+b",
        }

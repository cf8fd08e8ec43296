from wigwag.server.trace_context import TraceContext

PARENT = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"


def test_a_trace_is_read_from_the_keys_that_mcp_has_for_it() -> None:
    meta = {"traceparent": PARENT, "tracestate": "a=b", "baggage": "user=7", "other": "x"}
    trace = TraceContext.of(meta)
    assert trace == TraceContext(PARENT, "a=b", "user=7")
    assert trace


def test_what_is_missing_or_no_text_is_not_there() -> None:
    assert TraceContext.of({}) == TraceContext()
    assert not TraceContext.of({"traceparent": 7, "tracestate": None, "baggage": ["x"]})

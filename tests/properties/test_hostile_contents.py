"""Whatever a server lists and answers, the doctor comes to an end and says what it found."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doctor.in_memory import connect_to
from tests.properties.strategies import texts, values
from tests.zoo.animal import Animal
from wigwag.doctor.diagnosing import diagnose
from wigwag.doctor.findings import Finding
from wigwag.doctor.patience import Patience

WIRE = logging.getLogger("wigwag.wire")

METHODS = [
    "initialize",
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tools/call",
    "prompts/get",
    "resources/read",
]

schemas = st.recursive(
    values,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": values | st.sampled_from(["object", "array"]),
            "properties": values | st.dictionaries(texts, inner, max_size=3),
            "items": inner,
            "anyOf": values | st.lists(inner, max_size=3),
            "$ref": values | st.sampled_from(["#", "#/properties/a", "https://example.com/"]),
            "$schema": values | st.just("http://json-schema.org/draft-07/schema#"),
            "$defs": values | st.dictionaries(texts, inner, max_size=2),
            "required": values,
            "x-mcp-header": values,
        },
    ),
    max_leaves=6,
)
icons = values | st.lists(
    st.fixed_dictionaries({}, optional={"src": values, "sizes": values, "mimeType": values}),
    max_size=2,
)
items = st.fixed_dictionaries(
    {},
    optional={
        "name": values | texts,
        "uri": values | texts.map("a://".__add__),
        "uriTemplate": values | st.sampled_from(["a://{b}", "a://{b", "{"]),
        "description": values,
        "mimeType": values,
        "icons": icons,
        "arguments": values | st.lists(st.fixed_dictionaries({"name": values}), max_size=2),
        "annotations": values | st.just({"readOnlyHint": True}),
        "inputSchema": schemas,
        "outputSchema": schemas,
    },
)
lists = values | st.lists(values | items, max_size=4)
contents = st.fixed_dictionaries({"uri": texts, "blob": texts})
results = values | st.fixed_dictionaries(
    {},
    optional={
        "tools": lists,
        "prompts": lists,
        "resources": lists,
        "resourceTemplates": lists,
        "nextCursor": values,
        "contents": values
        | st.lists(values | st.fixed_dictionaries({"uri": texts, "blob": texts})),
        "messages": values,
        "content": values,
        "structuredContent": values,
        "capabilities": values,
        "supportedVersions": values | st.just(["2026-07-28"]),
        "protocolVersion": values | st.just("2025-11-25"),
        "serverInfo": values,
        "instructions": values | st.just("Call `find_book`."),
    },
)


@contextmanager
def unwatched() -> Iterator[None]:
    """Keep the messages from those who look for broken ones: here they are meant to be."""
    level = WIRE.level
    WIRE.setLevel(logging.INFO)
    try:
        yield
    finally:
        WIRE.setLevel(level)


def answering(result: Any) -> Any:
    return lambda _: result


# Each is seven connections.
@settings(max_examples=settings().max_examples // 3)
@given(answers=st.dictionaries(st.sampled_from(METHODS), results, max_size=4), modern=st.booleans())
def test_the_doctor_comes_to_an_end_whatever_a_server_answers(
    *, answers: dict[str, Any], modern: bool
) -> None:
    animal = Animal(
        modern=modern, answers={method: answering(result) for method, result in answers.items()}
    )
    with unwatched():
        patience = Patience(start=60.0, answer=60.0, total=600.0)
        diagnosis = asyncio.run(diagnose(partial(connect_to, animal), patience=patience))
    for finding in diagnosis.findings:
        assert isinstance(finding, Finding)
        assert finding.change.isprintable()
        assert len(finding.evidence) < 20_000

import pytest
from msgspec import UNSET, Struct

from tests.pair import EVERYTHING
from wigwag.protocol.gates import (
    client_declares,
    missing_capability_error,
    offered_methods,
    required_client_capability,
    server_declares,
)
from wigwag.schema import (
    LEGACY_REVISIONS,
    METHODS,
    REVISIONS,
    V2024_11_05,
    V2025_11_25,
    V2026_07_28,
    ClientCapabilities,
    ClientTasksCapability,
    CreateMessageRequestParams,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    PromptsCapability,
    ResourcesCapability,
    RootsCapability,
    SamplingCapability,
    ServerCapabilities,
    Tool,
    ToolChoice,
    ToolsCapability,
)

NOTHING = ServerCapabilities()
ALWAYS_OFFERED = {
    V2026_07_28: {"server/discover"},
    **{revision: {"initialize", "ping"} for revision in LEGACY_REVISIONS},
}
BY_CAPABILITY = [
    (ServerCapabilities(tools=ToolsCapability()), {"tools/list", "tools/call"}),
    (ServerCapabilities(prompts=PromptsCapability()), {"prompts/list", "prompts/get"}),
    (
        ServerCapabilities(resources=ResourcesCapability()),
        {"resources/list", "resources/templates/list", "resources/read"},
    ),
    (ServerCapabilities(completions={}), {"completion/complete"}),
]


# --- the server's side


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_server_that_can_do_nothing_offers_what_every_server_does(revision: str) -> None:
    assert offered_methods(NOTHING, revision) == ALWAYS_OFFERED[revision]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("capabilities", "methods"), BY_CAPABILITY)
def test_a_capability_opens_its_methods_and_no_others(
    revision: str, capabilities: ServerCapabilities, methods: set[str]
) -> None:
    assert offered_methods(capabilities, revision) == ALWAYS_OFFERED[revision] | methods


def test_logging_opens_a_method_in_the_legacy_era_only() -> None:
    logging = ServerCapabilities(logging={})
    assert "logging/setLevel" in offered_methods(logging, V2025_11_25)
    assert "logging/setLevel" not in offered_methods(logging, V2026_07_28)


def test_subscribing_needs_its_own_flag() -> None:
    for flag in (UNSET, False):
        resources = ServerCapabilities(resources=ResourcesCapability(subscribe=flag))
        assert "resources/subscribe" not in offered_methods(resources, V2025_11_25)
    resources = ServerCapabilities(resources=ResourcesCapability(subscribe=True))
    offered = offered_methods(resources, V2025_11_25)
    assert {"resources/subscribe", "resources/unsubscribe"} <= offered


@pytest.mark.parametrize(
    "capabilities",
    [
        ServerCapabilities(tools=ToolsCapability(list_changed=True)),
        ServerCapabilities(prompts=PromptsCapability(list_changed=True)),
        ServerCapabilities(resources=ResourcesCapability(list_changed=True)),
        ServerCapabilities(resources=ResourcesCapability(subscribe=True)),
    ],
)
def test_there_is_something_to_listen_for_where_any_change_is_reported(
    capabilities: ServerCapabilities,
) -> None:
    assert "subscriptions/listen" in offered_methods(capabilities, V2026_07_28)
    assert server_declares(capabilities, "subscriptions/listen", V2026_07_28)


def test_there_is_nothing_to_listen_for_where_no_change_is_reported() -> None:
    quiet = ServerCapabilities(tools=ToolsCapability(list_changed=False), logging={})
    assert "subscriptions/listen" not in offered_methods(quiet, V2026_07_28)
    assert not server_declares(quiet, "subscriptions/listen", V2026_07_28)


@pytest.mark.parametrize("revision", REVISIONS)
def test_nothing_is_offered_that_clients_cannot_send(revision: str) -> None:
    for method in offered_methods(EVERYTHING, revision):
        row = METHODS[method]
        assert row.kind == "request"
        assert row.may_be_sent_by("client", revision)


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("capabilities", [NOTHING, EVERYTHING, *(c for c, _ in BY_CAPABILITY)])
def test_a_client_may_ask_exactly_what_the_server_offers(
    capabilities: ServerCapabilities, revision: str
) -> None:
    for row in METHODS.values():
        if row.kind != "request" or not row.may_be_sent_by("client", revision):
            continue
        if row.name == "completion/complete" and revision == V2024_11_05:
            continue
        offers = row.name in offered_methods(capabilities, revision)
        assert server_declares(capabilities, row.name, revision) is offers, row.name


def test_the_oldest_revision_has_no_word_for_completions() -> None:
    assert server_declares(NOTHING, "completion/complete", V2024_11_05)
    assert not server_declares(NOTHING, "completion/complete", V2025_11_25)


# --- the client's side


def sampling(**more: object) -> CreateMessageRequestParams:
    return CreateMessageRequestParams(messages=[], max_tokens=1, **more)  # type: ignore[arg-type]


FORM = ElicitRequestFormParams(message="m", requested_schema={"type": "object", "properties": {}})
URL = ElicitRequestURLParams(mode="url", message="m", url="https://a.example")


@pytest.mark.parametrize(
    ("method", "params", "needed"),
    [
        ("roots/list", None, ClientCapabilities(roots=RootsCapability())),
        ("ping", None, ClientCapabilities()),
        ("tasks/get", None, ClientCapabilities(tasks=ClientTasksCapability())),
        ("tasks/result", None, ClientCapabilities(tasks=ClientTasksCapability())),
        ("tasks/list", None, ClientCapabilities(tasks=ClientTasksCapability(list={}))),
        ("tasks/cancel", None, ClientCapabilities(tasks=ClientTasksCapability(cancel={}))),
        (
            "sampling/createMessage",
            sampling(),
            ClientCapabilities(sampling=SamplingCapability()),
        ),
        (
            "sampling/createMessage",
            sampling(tools=[Tool(name="a", input_schema={"type": "object"})]),
            ClientCapabilities(sampling=SamplingCapability(tools={})),
        ),
        (
            "sampling/createMessage",
            sampling(tool_choice=ToolChoice(mode="none")),
            ClientCapabilities(sampling=SamplingCapability(tools={})),
        ),
        (
            "elicitation/create",
            FORM,
            ClientCapabilities(elicitation=ElicitationCapability()),
        ),
        (
            "elicitation/create",
            URL,
            ClientCapabilities(elicitation=ElicitationCapability(url={})),
        ),
    ],
)
def test_a_question_needs_the_capability_for_its_kind(
    method: str, params: Struct | None, needed: ClientCapabilities
) -> None:
    assert required_client_capability(method, params) == needed


NO = ClientCapabilities()
SAMPLING = ClientCapabilities(sampling=SamplingCapability())
SAMPLING_TOOLS = ClientCapabilities(sampling=SamplingCapability(tools={}))
FORMS_IMPLIED = ClientCapabilities(elicitation=ElicitationCapability())
FORMS = ClientCapabilities(elicitation=ElicitationCapability(form={}))
URLS = ClientCapabilities(elicitation=ElicitationCapability(url={}))
BOTH = ClientCapabilities(elicitation=ElicitationCapability(form={}, url={}))
ROOTS = ClientCapabilities(roots=RootsCapability(list_changed=True))
EXTENDED = ClientCapabilities(extensions={"example.com/x": {"deep": {"a": 1}}})


@pytest.mark.parametrize(
    ("declared", "needed", "answer"),
    [
        (NO, NO, True),
        (BOTH, NO, True),
        (NO, SAMPLING, False),
        (SAMPLING, SAMPLING, True),
        (SAMPLING, SAMPLING_TOOLS, False),
        (SAMPLING_TOOLS, SAMPLING, True),
        (SAMPLING_TOOLS, SAMPLING_TOOLS, True),
        (NO, FORMS_IMPLIED, False),
        (FORMS_IMPLIED, FORMS_IMPLIED, True),
        (FORMS, FORMS_IMPLIED, True),
        (URLS, FORMS_IMPLIED, False),
        (BOTH, FORMS_IMPLIED, True),
        (FORMS_IMPLIED, URLS, False),
        (FORMS, URLS, False),
        (URLS, URLS, True),
        (BOTH, URLS, True),
        (ROOTS, ClientCapabilities(roots=RootsCapability()), True),
        (SAMPLING, ClientCapabilities(roots=RootsCapability()), False),
        (EXTENDED, ClientCapabilities(extensions={"example.com/x": {}}), True),
        (EXTENDED, ClientCapabilities(extensions={"example.com/y": {}}), False),
    ],
)
def test_a_client_can_do_what_it_declared(
    declared: ClientCapabilities,
    needed: ClientCapabilities,
    answer: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert client_declares(declared, needed) is answer


def test_the_error_for_a_missing_capability_names_it() -> None:
    error = missing_capability_error(SAMPLING_TOOLS)
    assert error.code == -32021
    assert error.message == "Missing required client capability: sampling"
    assert error.data == {"requiredCapabilities": SAMPLING_TOOLS}

import json
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw

from wigwag.schema import (
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    REVISIONS,
    SERVER_INFO_KEY,
    SUBSCRIPTION_ID_KEY,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    Annotations,
    AudioContent,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ClientTasksCapability,
    ContentBlock,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmbeddedResource,
    GetPromptResult,
    Icon,
    Implementation,
    InitializeResult,
    ListToolsResult,
    NotificationParams,
    ProgressNotificationParams,
    PromptMessage,
    RequestMetaObject,
    ResourceLink,
    Result,
    RootsCapability,
    SamplingMessage,
    ServerCapabilities,
    TaskMetadata,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
    ToolExecution,
    ToolResultContent,
    ToolsCapability,
    ToolUseContent,
    UnknownContent,
    project,
)

WITHOUT_RESOURCE_LINK = (V2024_11_05, V2025_03_26)
BEFORE_1125 = (*WITHOUT_RESOURCE_LINK, V2025_06_18)
LINK = ResourceLink(uri="kite://1", name="one", title="The first")
AUDIO = AudioContent(data="UklGRg==", mime_type="audio/wav")
HELLO = TextContent(text="Hello")
TOOL_USE = ToolUseContent(id="1", name="add", input={"a": 1})
TOOL_RESULT = ToolResultContent(tool_use_id="1", content=[HELLO])


def wire(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def members(value: Any, revision: str) -> set[str]:
    return set(wire(project(value, revision)))


def everything_about_a_tool() -> Tool:
    return Tool(
        name="add",
        title="Add",
        description="Adds.",
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        annotations=ToolAnnotations(read_only_hint=True),
        icons=[Icon(src="data:")],
        execution=ToolExecution(task_support="optional"),
        meta={"com.example/x": 1},
    )


def test_a_tool_has_the_members_of_each_revision() -> None:
    tool = everything_about_a_tool()
    first = {"name", "description", "inputSchema"}
    assert members(tool, V2024_11_05) == first
    assert members(tool, V2025_03_26) == first | {"annotations"}
    since_0618 = first | {"annotations", "title", "outputSchema", "_meta"}
    assert members(tool, V2025_06_18) == since_0618
    assert members(tool, V2025_11_25) == since_0618 | {"icons", "execution"}
    assert members(tool, V2026_07_28) == since_0618 | {"icons"}


def test_a_value_that_fits_is_returned_itself() -> None:
    tools = ListToolsResult(
        result_type="complete",
        ttl_ms=0,
        cache_scope="public",
        tools=[Tool(name="add", input_schema={"type": "object"}, icons=[Icon(src="data:")])],
    )
    assert project(tools, V2026_07_28) is tools
    result = CallToolResult(content=[HELLO], structured_content={"a": [1]}, meta={"a": 1})
    assert project(result, V2025_11_25) is result


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_plain_result_fits_every_revision(revision: str) -> None:
    result = CallToolResult(content=[HELLO])
    assert project(result, revision) is result


def test_the_original_is_left_alone() -> None:
    tool = everything_about_a_tool()
    tools = ListToolsResult(tools=[tool])
    assert project(tools, V2024_11_05).tools[0].title is UNSET
    assert tools.tools == [tool]
    assert tool.title == "Add"


def test_only_what_does_not_fit_is_copied() -> None:
    fits = Tool(name="sub", input_schema={"type": "object"})
    tools = ListToolsResult(tools=[everything_about_a_tool(), fits])
    assert project(tools, V2025_06_18).tools[1] is fits


@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
def test_a_legacy_empty_result_is_an_empty_object(revision: str) -> None:
    result = Result(result_type="complete", meta={SERVER_INFO_KEY: {"name": "s", "version": "1"}})
    assert msgspec.json.encode(project(result, revision)) == b"{}"


def test_legacy_revisions_get_no_cache_hints() -> None:
    tools = ListToolsResult(tools=[], result_type="complete", ttl_ms=1, cache_scope="public")
    assert members(tools, V2026_07_28) == {"tools", "resultType", "ttlMs", "cacheScope"}
    for revision in LEGACY_REVISIONS:
        assert members(tools, revision) == {"tools"}


def test_only_the_modern_keys_of_meta_are_left_out() -> None:
    result = CallToolResult(content=[], meta={SERVER_INFO_KEY: {}, "com.example/x": 1})
    assert project(result, V2025_11_25).meta == {"com.example/x": 1}
    assert project(result, V2026_07_28) is result
    params = NotificationParams(meta={SUBSCRIPTION_ID_KEY: 1})
    assert project(params, V2025_11_25).meta is UNSET
    assert project(params, V2026_07_28) is params


def test_a_legacy_request_keeps_its_progress_token_alone() -> None:
    params = CallToolRequestParams(
        name="add",
        request_state="s",
        input_responses={"q": Raw(b"{}")},
        meta=RequestMetaObject(
            progress_token=0,
            protocol_version=V2026_07_28,
            client_capabilities=ClientCapabilities(),
            client_info=Implementation(name="c", version="1"),
            log_level="info",
        ),
    )
    assert wire(project(params, V2025_11_25)) == {"name": "add", "_meta": {"progressToken": 0}}
    assert project(params, V2026_07_28) is params


def test_modern_requests_are_not_made_tasks() -> None:
    params = CallToolRequestParams(name="add", task=TaskMetadata(ttl=1))
    for revision in REVISIONS:
        assert (project(params, revision).task is UNSET) is (revision != V2025_11_25)


def test_names_have_the_members_of_each_revision_wherever_they_are() -> None:
    result = InitializeResult(
        protocol_version=V2025_06_18,
        capabilities=ServerCapabilities(),
        server_info=Implementation(
            name="s", version="1", title="S", website_url="https://example.com", description="d"
        ),
    )
    assert wire(project(result, V2025_03_26))["serverInfo"] == {"name": "s", "version": "1"}
    assert wire(project(result, V2025_06_18))["serverInfo"] == {
        "name": "s",
        "version": "1",
        "title": "S",
    }
    assert project(result, V2025_11_25) is result


@pytest.mark.parametrize("revision", [V2024_11_05])
def test_audio_becomes_text_before_there_is_audio(revision: str) -> None:
    result = project(CallToolResult(content=[HELLO, AUDIO]), revision)
    assert result.content[0] is HELLO
    assert isinstance(result.content[1], TextContent)
    assert "audio/wav" in result.content[1].text
    assert project(CallToolResult(content=[AUDIO]), V2025_03_26).content == [AUDIO]


@pytest.mark.parametrize("revision", WITHOUT_RESOURCE_LINK)
def test_a_resource_link_becomes_text_that_tells_what_and_where(revision: str) -> None:
    (block,) = project(CallToolResult(content=[LINK]), revision).content
    assert isinstance(block, TextContent)
    assert "The first" in block.text
    assert "kite://1" in block.text
    (kept,) = project(CallToolResult(content=[LINK]), V2025_06_18).content
    assert kept is LINK


def test_a_resource_link_without_a_title_is_told_by_its_name() -> None:
    link = ResourceLink(uri="kite://1", name="one")
    (block,) = project(CallToolResult(content=[link]), V2024_11_05).content
    assert isinstance(block, TextContent)
    assert "one" in block.text


def test_text_in_place_of_a_block_keeps_its_annotations_as_far_as_they_are_known() -> None:
    annotations = Annotations(priority=1, last_modified="2025-01-01T00:00:00Z")
    audio = AudioContent(data="", mime_type="audio/wav", annotations=annotations, meta={"a": 1})
    (block,) = project(CallToolResult(content=[audio]), V2024_11_05).content
    assert isinstance(block, TextContent)
    assert block.annotations == Annotations(priority=1)
    assert block.meta is UNSET


def test_the_block_of_a_prompt_message_is_projected_too() -> None:
    prompt = GetPromptResult(messages=[PromptMessage(role="user", content=LINK)])
    assert isinstance(project(prompt, V2025_03_26).messages[0].content, TextContent)


def test_the_contents_of_an_embedded_resource_are_projected_too() -> None:
    contents = TextResourceContents(uri="kite://1", text="x", meta={"a": 1})
    result = CallToolResult(content=[EmbeddedResource(resource=contents)])
    (block,) = project(result, V2025_03_26).content
    assert wire(block) == {"type": "resource", "resource": {"uri": "kite://1", "text": "x"}}
    assert project(result, V2025_06_18) is result


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_block_of_an_unknown_type_is_sent_on_as_it_came(revision: str) -> None:
    raw = b'{"type": "hologram", "depth": 1.50}'
    unknown: Any = UnknownContent(type="hologram", raw=Raw(raw))
    result = project(CallToolResult(content=[HELLO, unknown]), revision)
    assert msgspec.json.encode(result.content[1]) == raw
    message = project(PromptMessage(role="user", content=unknown), revision)
    assert msgspec.json.encode(message.content) == raw


@pytest.mark.parametrize("revision", BEFORE_1125)
def test_a_list_of_one_sampling_block_becomes_the_block(revision: str) -> None:
    message = SamplingMessage(role="user", content=[HELLO], meta={"a": 1})
    assert project(message, revision) == SamplingMessage(role="user", content=HELLO)
    result = CreateMessageResult(role="assistant", content=[HELLO], model="m")
    assert project(result, revision).content is HELLO


@pytest.mark.parametrize("revision", [V2025_11_25, V2026_07_28])
def test_a_list_of_sampling_blocks_stays_a_list_once_there_are_lists(revision: str) -> None:
    result = CreateMessageResult(role="assistant", content=[HELLO, TOOL_USE], model="m")
    assert project(result, revision) is result


@pytest.mark.parametrize("revision", BEFORE_1125)
def test_a_sampling_message_of_several_blocks_becomes_several_messages(revision: str) -> None:
    params = CreateMessageRequestParams(
        max_tokens=1,
        messages=[
            SamplingMessage(role="user", content=[HELLO, TextContent(text="there")]),
            SamplingMessage(role="assistant", content=HELLO),
        ],
    )
    assert project(params, revision).messages == [
        SamplingMessage(role="user", content=HELLO),
        SamplingMessage(role="user", content=TextContent(text="there")),
        SamplingMessage(role="assistant", content=HELLO),
    ]


@pytest.mark.parametrize("revision", BEFORE_1125)
def test_an_answer_of_several_blocks_becomes_one_text(revision: str) -> None:
    result = CreateMessageResult(role="assistant", content=[HELLO, TOOL_USE, AUDIO], model="m")
    block = project(result, revision).content
    assert isinstance(block, TextContent)
    first, second, third = block.text.split("\n")
    assert first == "Hello"
    assert "add" in second
    assert '{"a":1}' in second
    assert "audio/wav" in third


@pytest.mark.parametrize("revision", BEFORE_1125)
def test_the_use_of_tools_in_sampling_becomes_text(revision: str) -> None:
    params = CreateMessageRequestParams(
        max_tokens=1,
        messages=[
            SamplingMessage(role="assistant", content=TOOL_USE),
            SamplingMessage(role="user", content=[TOOL_RESULT]),
        ],
        tools=[everything_about_a_tool()],
    )
    projected = project(params, revision)
    assert projected.tools is UNSET
    use, result = (message.content for message in projected.messages)
    assert isinstance(use, TextContent)
    assert "add" in use.text
    assert isinstance(result, TextContent)
    assert "Hello" in result.text


def test_an_empty_answer_becomes_an_empty_text() -> None:
    result = CreateMessageResult(role="assistant", content=[], model="m")
    assert project(result, V2025_06_18).content == TextContent(text="")


@pytest.mark.parametrize("value", [None, 1, "x", [1], True, Raw(b"[1]"), Raw(b" null"), (1, 2)])
def test_structured_content_that_is_no_object_is_put_into_one_in_legacy_results(value: Any) -> None:
    result = CallToolResult(content=[], structured_content=value)
    assert project(result, V2026_07_28) is result
    for revision in (V2025_06_18, V2025_11_25):
        assert project(result, revision).structured_content == {"result": value}
    assert project(result, V2025_03_26).structured_content is UNSET


@pytest.mark.parametrize("value", [{"a": 1}, {}, Raw(b' {"a":1}'), LINK])
def test_structured_content_that_is_an_object_is_kept_from_2025_06_18_on(value: Any) -> None:
    result = CallToolResult(content=[], structured_content=value)
    assert project(result, V2025_06_18) is result
    assert project(result, V2025_03_26).structured_content is UNSET


def test_structured_content_inside_a_sampling_message_is_subject_to_the_same() -> None:
    block = ToolResultContent(tool_use_id="1", content=[], structured_content=[1])
    message = SamplingMessage(role="user", content=[block])
    assert wire(project(message, V2025_11_25))["content"] == [
        {"type": "tool_result", "toolUseId": "1", "content": []}
    ]
    assert project(message, V2026_07_28) is message


@pytest.mark.parametrize("schema", [{"type": "array"}, {}, {"type": ["object", "null"]}], ids=repr)
def test_output_schemas_that_are_not_of_objects_are_put_into_one_in_legacy_tools(
    schema: dict[str, Any],
) -> None:
    tool = Tool(name="add", input_schema={"type": "object"}, output_schema=schema)
    assert project(tool, V2026_07_28) is tool
    for revision in (V2025_06_18, V2025_11_25):
        assert project(tool, revision).output_schema == {
            "type": "object",
            "properties": {"result": schema},
            "required": ["result"],
        }
    assert project(tool, V2025_03_26).output_schema is UNSET


def test_references_of_an_output_schema_still_lead_to_the_same_place() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/N"}, {"$ref": "#/properties/p"}]},
        "properties": {"p": {"$ref": "other.json"}},
        "$defs": {"N": {"items": {"$ref": "#/$defs/N"}, "not": {"$ref": "#/items"}}},
    }
    tool = Tool(name="add", input_schema={"type": "object"}, output_schema=schema)
    assert project(tool, V2025_11_25).output_schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "result": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"$ref": "#/properties/result"},
                        {"$ref": "#/$defs/N"},
                        {"$ref": "#/properties/result/properties/p"},
                    ]
                },
                "properties": {"p": {"$ref": "other.json"}},
            }
        },
        "required": ["result"],
        "$defs": {
            "N": {
                "items": {"$ref": "#/$defs/N"},
                "not": {"$ref": "#/properties/result/items"},
            }
        },
    }


def test_capabilities_are_those_of_the_revision() -> None:
    server = ServerCapabilities(
        completions={}, tools=ToolsCapability(list_changed=True), extensions={"a/b": {}}
    )
    assert members(server, V2024_11_05) == {"tools"}
    assert members(server, V2025_03_26) == {"tools", "completions"}
    assert members(server, V2025_11_25) == {"tools", "completions", "extensions"}
    client = ClientCapabilities(
        roots=RootsCapability(list_changed=True), tasks=ClientTasksCapability(list={})
    )
    assert wire(project(client, V2025_06_18)) == {"roots": {"listChanged": True}}
    assert wire(project(client, V2025_11_25)) == {
        "roots": {"listChanged": True},
        "tasks": {"list": {}},
    }
    assert wire(project(client, V2026_07_28)) == {"roots": {}}


def test_2025_06_18_knows_elicitation_by_form_only() -> None:
    both = ClientCapabilities(elicitation=ElicitationCapability(form={}, url={}))
    assert wire(project(both, V2025_06_18)) == {"elicitation": {}}
    assert wire(project(both, V2025_11_25)) == {"elicitation": {"form": {}, "url": {}}}
    url = ClientCapabilities(elicitation=ElicitationCapability(url={}))
    assert wire(project(url, V2025_06_18)) == {}
    assert wire(project(url, V2025_11_25)) == {"elicitation": {"url": {}}}
    neither = ClientCapabilities(elicitation=ElicitationCapability())
    assert wire(project(neither, V2025_06_18)) == {"elicitation": {}}
    assert wire(project(neither, V2025_03_26)) == {}


def test_2025_06_18_has_the_titles_of_choices_in_a_list_of_their_own() -> None:
    params = ElicitRequestFormParams(
        mode="form",
        message="Which?",
        requested_schema={
            "type": "object",
            "properties": {
                "kite": {
                    "type": "string",
                    "title": "Kite",
                    "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}],
                },
                "wind": {"type": "number"},
            },
            "required": ["kite"],
        },
    )
    assert wire(project(params, V2025_06_18)) == {
        "message": "Which?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "kite": {
                    "type": "string",
                    "title": "Kite",
                    "enum": ["r", "b"],
                    "enumNames": ["Red", "Blue"],
                },
                "wind": {"type": "number"},
            },
            "required": ["kite"],
        },
    }
    assert project(params, V2025_11_25) is params


def test_2025_06_18_has_no_lists_in_forms_and_defaults_of_booleans_alone() -> None:
    items: dict[str, Any] = {"type": "string", "enum": ["r", "b"]}
    titled: dict[str, Any] = {"anyOf": [{"const": "x", "title": "X"}]}
    properties: dict[str, Any] = {
        "name": {"type": "string", "default": "Ada"},
        "wind": {"type": "number", "default": 2.5},
        "kite": {"type": "string", "enum": ["r", "b"], "default": "r"},
        "fly": {"type": "boolean", "default": True},
        "kites": {"type": "array", "title": "Kites", "items": items, "default": ["r"]},
        "more": {"type": "array", "description": "More", "items": titled},
    }
    schema = {"type": "object", "properties": properties}
    params = ElicitRequestFormParams(mode="form", message="Which?", requested_schema=schema)
    assert wire(project(params, V2025_06_18))["requestedSchema"]["properties"] == {
        "name": {"type": "string"},
        "wind": {"type": "number"},
        "kite": {"type": "string", "enum": ["r", "b"]},
        "fly": {"type": "boolean", "default": True},
        "kites": {
            "type": "string",
            "title": "Kites",
            "description": "Any of these, separated by commas: r, b",
        },
        "more": {
            "type": "string",
            "description": "More (Any of these, separated by commas: x)",
        },
    }
    assert project(params, V2025_11_25) is params


@pytest.mark.parametrize("schema", [{"type": "object"}, {"properties": {"a": True}}], ids=repr)
def test_a_form_without_choices_stays_as_it_is(schema: dict[str, Any]) -> None:
    params = ElicitRequestFormParams(message="Which?", requested_schema=schema)
    assert project(params, V2025_06_18) is params


def test_2025_06_18_has_no_lists_among_the_answers_of_a_form() -> None:
    answer = ElicitResult(action="accept", content={"kites": ["red", "blue"], "wind": 3})
    assert project(answer, V2025_06_18).content == {"kites": "red, blue", "wind": 3}
    assert project(answer, V2025_11_25) is answer
    for plain in (ElicitResult(action="decline"), ElicitResult(action="accept", content={"a": 1})):
        assert project(plain, V2025_06_18) is plain


def test_the_id_of_an_elicitation_exists_in_2025_11_25_only() -> None:
    params = ElicitRequestURLParams(mode="url", message="m", url="https://x", elicitation_id="1")
    assert project(params, V2025_11_25) is params
    assert members(params, V2026_07_28) == {"mode", "message", "url"}


def test_progress_has_no_message_at_first() -> None:
    params = ProgressNotificationParams(progress_token=1, progress=1, message="m")
    assert members(params, V2024_11_05) == {"progressToken", "progress"}
    assert project(params, V2025_03_26) is params


def test_lists_and_dicts_of_values_are_projected_item_by_item() -> None:
    blocks: list[ContentBlock] = [HELLO, LINK]
    assert project(blocks, V2025_06_18) is blocks
    assert [type(block) for block in project(blocks, V2025_03_26)] == [TextContent, TextContent]
    named = {"a": HELLO, "b": LINK}
    assert project(named, V2025_06_18) is named
    assert project(named, V2025_03_26)["a"] is HELLO
    assert project(named, V2025_03_26)["b"] is not LINK


@pytest.mark.parametrize("value", [None, 1, "x", b"x", UNSET], ids=repr)
def test_what_is_no_type_of_ours_is_returned_itself(value: object) -> None:
    assert project(value, MODERN_REVISIONS[0]) is value


def test_data_of_the_user_are_not_looked_into() -> None:
    result = CallToolResult(content=[], structured_content={"resultType": 1, "audio": [None]})
    assert project(result, V2025_06_18) is result


def test_an_unknown_revision_is_an_error() -> None:
    with pytest.raises(KeyError):
        project(HELLO, "2023-01-01")

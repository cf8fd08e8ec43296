import asyncio
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from wigwag import CacheHint, Client, Context, Server
from wigwag.schema import Annotations, Icon, PromptReference

pytestmark = pytest.mark.anyio

ICON = Icon(src="https://example.com/a.png", sizes=["48x48"])


def module_of(source: str) -> ModuleType:
    module = ModuleType("tools_of_test")
    exec(source, module.__dict__)
    return module


def test_functions_of_a_module_become_tools() -> None:
    server = Server("s")
    module = module_of(
        "from os.path import join\n"
        "class Thing: pass\n"
        "def first(a: int) -> int:\n    'The first.'\n    return a\n"
        "async def second() -> str:\n    return 'x'\n"
        "def _private(): pass\n"
    )
    assert server.add_module(module, tags=["from the module"]) == ["first", "second"]
    tools = server._tools.active
    assert list(tools) == ["first", "second"]
    assert tools["first"].definition.description == "The first."
    assert tools["first"].tags == {"from the module"}


def test_a_module_says_itself_what_is_public() -> None:
    server = Server("s")
    module = module_of(
        "from os.path import basename\n"
        "__all__ = ['basename', '_mine']\n"
        "def _mine(): pass\ndef other(): pass\n"
    )
    module.basename = lambda path="": path  # type: ignore[attr-defined]
    module.basename.__name__ = "basename"
    assert server.add_module(module) == ["basename", "_mine"]


def test_a_module_without_functions_is_refused() -> None:
    with pytest.raises(ValueError, match="there are no public functions in tools_of_test"):
        Server("s").add_module(module_of("x = 1\n"))


def test_features_are_registered_without_decorators_as_well() -> None:
    @dataclass
    class Local:
        a: int

    def take(thing: "Local") -> str:
        return str(thing.a)

    def give(name: str = "x") -> str:
        return name

    server = Server("s")
    assert server.add_tool(take) is take
    server.add_tool(take, "other", title="Other")
    server.add_prompt(give, title="Give")
    server.add_resource("kite://a", lambda: "a", name="a")
    server.add_resource("kite://{name}", give)
    assert list(server._tools.active) == ["take", "other"]
    schema = server._tools.active["take"].definition.input_schema
    assert schema["properties"]["thing"]["properties"] == {"a": {"type": "integer"}}
    assert server._prompts.active["give"].definition.title == "Give"
    assert list(server._resources.active) == ["kite://a"]
    assert list(server._templates.active) == ["kite://{name}"]


async def test_all_that_is_said_about_features_reaches_clients() -> None:
    about: dict[str, Any] = {"title": "T", "icons": [ICON], "meta": {"com.example/a": 1}}
    server = Server(
        "s",
        title="Server",
        description="It serves.",
        website_url="https://example.com",
        icons=[ICON],
    )
    server.add_tool(lambda: "x", "tool", **about)
    server.add_prompt(lambda: "x", "prompt", **about)
    annotations = Annotations(audience=["user"], priority=0.5)
    server.add_resource("kite://a", lambda: "x", name="a", size=3, annotations=annotations, **about)
    server.add_resource("kite://{b}", lambda b: b, name="b", annotations=annotations, **about)
    async with Client(server) as client:
        info = client.server_info
        (tool,) = (await client.list_tools()).tools
        (prompt,) = (await client.list_prompts()).prompts
        (resource,) = (await client.list_resources()).resources
        (template,) = (await client.list_resource_templates()).resource_templates
    assert info is not None
    assert (info.title, info.description) == ("Server", "It serves.")
    assert (info.website_url, info.icons) == ("https://example.com", [ICON])
    for each in (tool, prompt, resource, template):
        assert (each.title, each.icons, each.meta) == ("T", [ICON], {"com.example/a": 1})
    assert resource.size == 3
    assert resource.annotations == template.annotations == annotations


@pytest.mark.parametrize("on_duplicate", ["warn", "replace"])
async def test_a_feature_can_take_the_place_of_another(on_duplicate: Any) -> None:
    server = Server("s", on_duplicate=on_duplicate)
    for text in ("first", "second"):
        server.add_tool(lambda text=text: text, "tool")
    async with Client(server) as client:
        assert (await client.call_tool("tool")).text == "second"


async def test_a_feature_whose_name_is_taken_can_be_left_out() -> None:
    server = Server("s", on_duplicate="ignore")
    for text in ("first", "second"):
        server.add_tool(lambda text=text: text, "tool")
    async with Client(server) as client:
        assert (await client.call_tool("tool")).text == "first"


async def test_no_more_calls_of_a_tool_run_than_are_allowed_and_waiting_does_not_count() -> None:
    server = Server("s")
    running: list[int] = []
    most: list[int] = []

    @server.tool(concurrency=2, timeout=5)
    async def work(number: int) -> int:
        running.append(number)
        most.append(len(running))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.remove(number)
        return number

    async with Client(server) as client:
        calls = [client.call_tool("work", {"number": number}) for number in range(7)]
        results = await asyncio.gather(*calls)
    assert [result.structured_content for result in results] == list(range(7))
    assert max(most) == 2


def test_a_tool_that_nobody_may_call_is_refused() -> None:
    with pytest.raises(ValueError, match="`concurrency` is 1 or more, not 0"):
        Server("s").tool("x", concurrency=0)(lambda: "x")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"icons": ["a.png"]}, TypeError, r"'x' cannot be listed: .*`object`, got `str` - .*icons"),
        ({"title": 3}, TypeError, "'x' cannot be listed: Expected `str`, got `int` - at `.*title"),
        ({"meta": {"a": object()}}, TypeError, "'x' cannot be listed: the value cannot be sent"),
        ({"meta": {"a": "\ud800"}}, TypeError, "'x' cannot be listed: .* lone surrogate"),
        ({"tags": "careful"}, TypeError, r"`tags` are several: write \['careful'\]"),
        ({"visible": "boss"}, TypeError, "`visible` is a function of who asks, not 'boss'"),
        ({"timeout": 0}, ValueError, "`timeout` is more than 0 seconds, not 0"),
    ],
)
async def test_what_would_spoil_a_list_or_every_call_is_refused_at_once(
    options: dict[str, Any], error: type[Exception], text: str
) -> None:
    server = Server("s")
    with pytest.raises(error, match=text):
        server.tool("x", **options)(lambda: None)
    server.tool("x")(lambda: None)
    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["x"]


def test_resources_and_prompts_are_held_to_the_protocol_as_well() -> None:
    server = Server("s")
    with pytest.raises(TypeError, match=r"'r' cannot be listed: .*audience"):
        server.resource("s://r", name="r", annotations={"audience": 3})(lambda: "")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"'t' cannot be listed: .*icons"):
        server.resource("s://{a}", name="t", icons=["i"])(lambda a: a)  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"'p' cannot be listed: .*title"):
        server.prompt("p", title=3)(lambda: "")  # type: ignore[call-overload]


def test_what_happens_to_names_that_are_taken_is_one_of_four() -> None:
    with pytest.raises(ValueError, match="one of error, warn, replace, ignore, not 'overwrite'"):
        Server("s", on_duplicate="overwrite")  # type: ignore[arg-type]


def test_what_is_kept_is_kept_for_somebody() -> None:
    with pytest.raises(ValueError, match="public or private, not 'everybody'"):
        CacheHint(5, "everybody")  # type: ignore[arg-type]


def test_what_surrounds_a_server_is_loaded_only_when_it_is_used() -> None:
    import subprocess  # noqa: PLC0415

    code = (
        "import sys\nfrom wigwag import Server\nserver = Server('s')\n"
        "@server.tool\ndef f(a: int) -> str: return ''\n"
        "names = ('middleware', 'methods', 'hearing', 'results.media', 'asking.replay', 'files')\n"
        "print([name for name in names if f'wigwag.server.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_arguments_of_a_mounted_prompt_are_completed_by_its_server() -> None:
    inner, outer = Server("inner"), Server("outer")

    @inner.prompt
    def pack(city: str, ctx: Context) -> str:
        return city

    @inner.completion
    def cities(ref: Any, argument: Any) -> list[str]:
        return [ref.name, argument.value]

    outer.mount(inner, prefix="in")
    async with Client(outer) as client:
        found = await client.complete(PromptReference(name="in_pack"), "city", "O")
    assert found.completion.values == ["pack", "O"]


async def test_a_tool_is_as_strict_as_it_says_or_else_as_its_server() -> None:
    for server_is_strict, option, expected in (
        (False, None, False),
        (True, None, True),
        (True, False, False),
        (False, True, True),
    ):
        server = Server("s", strict_input=server_is_strict)

        def double(number: int) -> int:
            return 2 * number

        server.add_tool(double, strict=option)
        async with Client(server) as client:
            result = await client.call_tool("double", {"number": "4"})
        assert (result.is_error is True) is expected


async def test_an_output_schema_by_hand_and_no_structure_at_all_can_be_wanted() -> None:
    server = Server("s")
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

    @server.tool(output_schema=schema)
    def by_hand(wrong: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - as tools have it
        return {"b": 1} if wrong else {"a": 1}

    @server.tool(structured_output=False)
    def plain() -> dict[str, int]:
        return {"a": 1}

    async with Client(server) as client:
        first, second = (await client.list_tools()).tools
        assert first.output_schema == schema
        assert not second.output_schema
        assert (await client.call_tool("by_hand")).structured_content == {"a": 1}
        assert (await client.call_tool("by_hand", {"wrong": True})).is_error
        result = await client.call_tool("plain")
    assert not result.structured_content
    assert result.text == '{"a":1}'

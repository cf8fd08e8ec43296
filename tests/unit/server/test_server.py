"""Registering features: what is allowed, what is refused, and how it is said."""

import asyncio
import functools
from typing import Annotated, Any

import msgspec
import pytest

from wigwag import Context, Limits, Server
from wigwag.schema import REVISIONS, Implementation


def hello() -> str:
    return "hello"


@pytest.fixture
def server() -> Server:
    return Server("s")


def names(server: Server) -> list[str]:
    return list(server._tools.active)


# --- the server itself


def test_a_server_says_what_it_is() -> None:
    assert repr(Server("kite", version="1.0")) == "<Server kite 1.0>"
    info = Implementation(name="kite", version="2.0", title="Kite")
    server = Server(info, instructions="Fly.")
    assert server.info is info
    assert server.instructions == "Fly."
    assert Server("kite").instructions is None


def test_a_version_that_is_no_text_is_refused() -> None:
    wrong: Any = 1.0
    with pytest.raises(TypeError, match=r"the version is text, as '1\.0\.0', not 1\.0"):
        Server("s", version=wrong)


@pytest.mark.parametrize("revisions", [[], ["2099-01-01"], ["2025-06-18", "latest"]])
def test_revisions_that_do_not_exist_are_refused(revisions: list[str]) -> None:
    with pytest.raises(ValueError, match=f"revisions must be some of {', '.join(REVISIONS)}"):
        Server("s", revisions=revisions)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"page_size": 0}, "a page holds at least one item"),
        ({"limits": Limits(worker_threads=0)}, "at least one worker thread is needed"),
    ],
)
def test_limits_that_allow_nothing_are_refused(options: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Server("s", **options)


async def run_within_a_loop(server: Server) -> None:
    server.run()


def test_a_server_does_not_run_where_an_event_loop_runs(server: Server) -> None:
    with pytest.raises(RuntimeError, match=r"within one, await serve\(connection\)"):
        asyncio.run(run_within_a_loop(server))


@pytest.mark.parametrize("transport", ["carrier pigeon", "", "STDIO"])
def test_a_transport_that_does_not_exist_is_refused(server: Server, transport: Any) -> None:
    with pytest.raises(ValueError, match="use stdio, http, tcp or unix"):
        server.run(transport)


def test_a_unix_socket_needs_a_path(server: Server) -> None:
    with pytest.raises(ValueError, match="needs the path of the socket"):
        server.run("unix")


# --- names


def test_decorators_return_the_function_itself(server: Server) -> None:
    assert server.tool(hello) is hello
    assert server.tool("second")(hello) is hello
    assert server.tool(name="third")(hello) is hello
    assert server.prompt(hello) is hello
    assert server.prompt("second")(hello) is hello
    assert server.resource("s://r")(hello) is hello
    assert server.completion(hello) is hello
    assert names(server) == ["hello", "second", "third"]


def test_a_tool_is_called_after_its_function_unless_it_is_given_a_name(server: Server) -> None:
    class Greeter:
        def greet(self) -> str:
            return "hello"

        def __call__(self) -> str:
            return "called"

    server.tool(Greeter().greet)
    server.tool("greeter")(Greeter())
    server.tool("partly")(functools.partial(hello))
    assert names(server) == ["greet", "greeter", "partly"]


@pytest.mark.parametrize("function", [lambda: "x", functools.partial(hello)])
def test_a_function_without_a_name_needs_one(server: Server, function: Any) -> None:
    with pytest.raises(ValueError, match="give it one with `name`"):
        server.tool(function)
    with pytest.raises(ValueError, match="give it one with `name`"):
        server.prompt(function)
    with pytest.raises(ValueError, match="give it one with `name`"):
        server.resource("s://r")(function)


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "x" * 128])
def test_names_of_tools_that_hosts_take_are_allowed(server: Server, name: str) -> None:
    server.tool(name)(hello)
    assert names(server) == [name]


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "é", "a\n", "x" * 129, "٣"])
def test_names_of_tools_that_hosts_do_not_take_are_refused(server: Server, name: str) -> None:
    if name:
        with pytest.raises(ValueError, match="is not allowed: 1 to 128 ASCII letters"):
            server.tool(name)(hello)
    else:  # no name is the function's own
        server.tool(name)(hello)
        assert names(server) == ["hello"]


def test_the_same_name_twice_is_refused(server: Server) -> None:
    server.tool(hello)
    server.prompt(hello)
    server.resource("s://r")(hello)
    server.resource("s://{v}")(reader())
    server.completion("p", "a")(hello)
    server.completion(hello)
    with pytest.raises(ValueError, match="there is a tool 'hello' already"):
        server.tool(hello)
    with pytest.raises(ValueError, match="there is a prompt 'hello' already"):
        server.prompt(hello)
    with pytest.raises(ValueError, match="there is a resource 's://r' already"):
        server.resource("s://r")(hello)
    with pytest.raises(ValueError, match=r"there is a resource template 's://\{v\}' already"):
        server.resource("s://{v}")(reader())
    with pytest.raises(ValueError, match="a of p has a completion function already"):
        server.completion("p", "a")(hello)
    with pytest.raises(ValueError, match="for everything is registered already"):
        server.completion(hello)


def reader() -> Any:
    def read(v: str) -> str:
        return v

    return read


# --- resources


def test_a_resource_needs_a_uri(server: Server) -> None:
    bare: Any = server.resource
    with pytest.raises(TypeError, match="a resource needs its URI"):
        bare(hello)
    with pytest.raises(TypeError, match="a resource needs its URI"):
        bare(5)
    with pytest.raises(ValueError, match="'articles' is no URI: it needs a scheme"):
        server.resource("articles")


def test_the_variables_of_a_template_are_the_parameters_of_its_function(server: Server) -> None:
    def read(slug: str, page: int = 1) -> str:
        return f"{slug} {page}"

    server.resource("s://a/{slug}")(read)
    server.resource("s://b/{slug}/{page}")(read)
    with pytest.raises(
        TypeError, match=r"its variables \(other\) and the parameters .*\(slug, page\)"
    ):
        server.resource("s://c/{other}")(read)
    with pytest.raises(TypeError, match="must have the same names"):
        server.resource("s://d/{page}")(read)
    with pytest.raises(
        TypeError, match="s://e has no variables, but its function takes slug, page"
    ):
        server.resource("s://e")(read)


def test_the_context_is_no_variable(server: Server) -> None:
    def read(slug: str, ctx: Context) -> str:
        return slug

    def static(ctx: Context) -> str:
        return "x"

    server.resource("s://a/{slug}")(read)
    server.resource("s://b")(static)


# --- taking out


def test_what_was_registered_can_be_taken_out(server: Server) -> None:
    server.tool(hello)
    server.prompt(hello)
    server.resource("s://r")(hello)
    server.resource("s://{v}")(reader())
    server.remove_tool("hello")
    server.remove_prompt("hello")
    server.remove_resource("s://r")
    server.remove_resource("s://{v}")
    shelves = (server._tools, server._prompts, server._resources, server._templates)
    assert [shelf.active for shelf in shelves] == [{}] * 4


def test_what_was_never_registered_cannot_be_taken_out(server: Server) -> None:
    for remove in (server.remove_tool, server.remove_prompt, server.remove_resource):
        with pytest.raises(KeyError):
            remove("nothing")


# --- functions that cannot be served


def test_generators_are_refused(server: Server) -> None:
    def lines() -> Any:
        yield "x"

    async def more_lines() -> Any:
        yield "x"

    for function in (lines, more_lines):
        for register in (server.tool, server.prompt, server.resource("s://r")):
            with pytest.raises(TypeError, match="yields; it must return its result"):
                register(function)


def test_a_fault_in_a_function_is_named_where_it_is_registered(server: Server) -> None:
    def takes_anything(*values: int) -> str:
        return "x"

    def takes_a_set(values: complex) -> str:
        return "x"

    with pytest.raises(TypeError, match=r"`\*values` of .*takes_anything"):
        server.tool(takes_anything)
    with pytest.raises(TypeError, match=r"parameter `values` of .*takes_a_set"):
        server.tool(takes_a_set)
    assert names(server) == []


# --- arguments that are repeated in headers


Region = Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})]
TheRegion = Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "The region"})]


def test_arguments_that_headers_repeat_are_known_by_tool(server: Server) -> None:
    def find(region: Region, limit: int = 5) -> str:
        return region

    server.tool(find)
    server.tool(hello)
    (parameter,) = server._description.mirrored["find"]
    assert (parameter.header, parameter.path) == ("Mcp-Param-Region", ("region",))
    assert list(server._description.mirrored) == ["find"]
    server.remove_tool("find")
    assert server._description.mirrored == {}


def test_a_tool_that_clients_would_refuse_for_its_header_is_refused(server: Server) -> None:
    def find(region: TheRegion) -> str:
        return region

    with pytest.raises(ValueError, match=r"^the tool 'find': x-mcp-header of 'region': 'The reg"):
        server.tool(find)
    assert names(server) == []
    assert server._description.mirrored == {}


def test_a_key_is_shared_with_other_processes_unless_a_server_has_its_own() -> None:
    shared, own = b"s" * 32, b"o" * 32
    plain, keyed = Server("kite"), Server("kite", state_keys=[own])
    for server in (plain, keyed):
        server.share_state_key(shared)
    assert (plain._state_keys, keyed._state_keys) == ((shared,), (own,))

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import pytest

from wigwag import Client, Context, Depends, Server

Json = Any


@pytest.fixture
def server() -> Server:
    return Server("shop")


def refusal(server: Server, function: Callable[..., Any]) -> str:
    with pytest.raises(TypeError) as caught:
        server.tool(function)
    return str(caught.value)


async def called(server: Server, name: str, **arguments: Json) -> str:
    async with Client(server) as client:
        result = await client.call_tool(name, arguments)
    assert not result.is_error, result.text
    return result.text


# --- what is refused when it is registered


def test_a_parameter_that_nothing_can_be_given_for_is_named(server: Server) -> None:
    def stock(shelf: str) -> int:
        return len(shelf)

    def order(title: str, stock: Annotated[int, Depends(stock)]) -> None: ...

    text = refusal(server, order)
    assert "parameter `stock`" in text
    assert "parameter `shelf` of its dependency" in text
    assert "nor an argument (`title`)" in text


def test_an_argument_of_another_type_is_named(server: Server) -> None:
    def stock(title: int) -> int:
        return title

    def order(title: str, stock: Annotated[int, Depends(stock)]) -> None: ...

    assert "parameter `title` of its dependency" in refusal(server, order)
    assert "int and str" in refusal(server, order)


@pytest.mark.parametrize(
    "wanted", [str, Any, str | None, str | int, Annotated[str, "text"], object]
)
def test_an_argument_fits_where_all_its_values_do(server: Server, wanted: Any) -> None:
    def stock(title: Any) -> int:
        return 1

    stock.__annotations__["title"] = wanted

    def order(title: Annotated[str, "a title"], stock: Annotated[int, Depends(stock)]) -> None: ...

    server.tool(order)


def test_a_dependency_that_depends_on_itself_is_refused(server: Server) -> None:
    def hen(egg: Any) -> None: ...

    def egg(hen: Annotated[None, Depends(hen)]) -> None: ...

    hen.__annotations__["egg"] = Annotated[None, Depends(egg)]

    def breakfast(egg: Annotated[None, Depends(egg)]) -> None: ...

    text = refusal(server, breakfast)
    assert "parameter `egg`" in text
    assert text.count("egg →") == 1
    assert "depends on itself" in text


def test_an_annotation_that_cannot_be_understood_is_named(server: Server) -> None:
    def stock(title: "Unheard") -> int:  # type: ignore[name-defined]  # noqa: F821
        return 1

    def order(title: str, stock: Annotated[int, Depends(stock)]) -> None: ...

    assert "Unheard" in refusal(server, order)


# --- what can be depended on


class Till:
    def __init__(self, title: str, currency: str = "EUR") -> None:
        self.text = f"{title} in {currency}"

    async def open(self) -> str:
        return "open"


@dataclass
class Settings:
    ctx: Context
    size: int = 3


class Counter:
    def __init__(self) -> None:
        self.count = 0

    async def __call__(self) -> int:
        self.count += 1
        return self.count


class Drawer:
    def __call__(self) -> Iterator[str]:
        yield "drawer"


@pytest.mark.anyio
async def test_classes_methods_and_objects_can_be_depended_on(server: Server) -> None:
    counter = Counter()

    @server.tool
    def order(
        title: str,
        till: Annotated[Till, Depends(Till)],
        settings: Annotated[Settings, Depends(Settings)],
        count: Annotated[int, Depends(counter)],
        again: Annotated[int, Depends(counter)],
        drawer: Annotated[str, Depends(Drawer())],
        opened: Annotated[str, Depends(Till("shop").open)],
        part: Annotated[int, Depends(partial(max, 3, 4))],
    ) -> str:
        known = f"{settings.ctx.request_id} {settings.size}"
        return f"{till.text}, {known}, {count}{again}, {drawer}, {opened}, {part}"

    text = await called(server, "order", title="Dune")
    assert text.endswith(" 3, 11, drawer, open, 4")
    assert text.startswith("Dune in EUR, ")


@pytest.mark.anyio
async def test_a_function_that_nobody_knows_the_parameters_of_is_called_with_none(
    server: Server,
) -> None:
    @server.tool
    def order(nothing: Annotated[dict[str, Any], Depends(dict)]) -> str:
        return repr(nothing)

    assert await called(server, "order") == "{}"


@pytest.mark.anyio
async def test_an_argument_may_be_optional_to_a_dependency(server: Server) -> None:
    def greeting(name: str = "you", /, *rest: str, mark: str = "!", **more: str) -> str:
        return f"hello {name}{mark}{rest}{more}"

    @server.tool
    def greet(greeting: Annotated[str, Depends(greeting)], mark: str = "?") -> str:
        return greeting

    assert await called(server, "greet") == "hello you?(){}"


@pytest.mark.anyio
async def test_the_arguments_of_a_written_schema_reach_dependencies(server: Server) -> None:
    def length(title: str, unit: str = "letters") -> str:
        return f"{len(title)} {unit}"

    schema = {"type": "object", "properties": {"title": {"type": "string"}, "unit": {}}}

    @server.tool(input_schema=schema)
    def measure(title: str = "", *, length: Annotated[str, Depends(length)], **rest: Any) -> str:
        return length

    assert await called(server, "measure", title="Dune") == "4 letters"
    assert await called(server, "measure", title="Dune", unit="runes") == "4 runes"
    async with Client(server) as client:
        result = await client.call_tool("measure", {})
    assert result.text == "Invalid arguments for measure: `title` is missing"


@pytest.mark.anyio
async def test_a_function_on_the_event_loop_has_its_dependencies_there(server: Server) -> None:
    def where() -> Iterator[str]:
        yield threading.current_thread().name

    @server.tool(thread=False)
    def here(where: Annotated[str, Depends(where)]) -> bool:
        return where == threading.current_thread().name == threading.main_thread().name

    @server.tool
    def there(where: Annotated[str, Depends(where)]) -> bool:
        return where.startswith("wigwag-worker")

    assert await called(server, "here") == "true"
    assert await called(server, "there") == "true"

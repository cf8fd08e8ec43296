"""Finding and loading the server that a target names."""

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wigwag import Server, ServerNotLoaded, load_server
from wigwag.server.loading import Code, code_folder

Write = Callable[[str, str], Path]

ONE = """
from wigwag import Server

kite = Server("kite")
"""


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Work in a folder of one's own, and let no test see what another one has loaded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    loaded = set(sys.modules)
    yield
    for name in set(sys.modules) - loaded:
        del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of Python."""

    def write_one(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write_one


def told(kind: type[Exception], target: str, *arguments: str) -> str:
    with pytest.raises(kind) as caught:
        load_server(target, arguments)
    return str(caught.value)


# --- which one is meant


@pytest.mark.parametrize("target", ["one.py", "one.py:kite", "one", "one:kite", "./one.py"])
def test_the_only_server_of_a_file_or_module_is_meant(write: Write, target: str) -> None:
    write("one.py", ONE)
    assert load_server(target).info.name == "kite"


def test_a_server_under_two_names_is_one(write: Write) -> None:
    write("one.py", ONE + "app = kite\n")
    assert load_server("one.py").info.name == "kite"


def test_of_several_the_one_that_has_the_others_in_it_is_meant(write: Write) -> None:
    write(
        "two.py",
        """
        from wigwag import Server

        inner = Server("inner")
        outer = Server("outer")
        outer.mount(inner, prefix="in")
        """,
    )
    assert load_server("two.py").info.name == "outer"


@pytest.mark.parametrize("name", ["server", "mcp", "app"])
def test_of_several_the_one_with_a_usual_name_is_meant(write: Write, name: str) -> None:
    write("two.py", ONE + f"{name} = Server('usual')\n")
    assert load_server("two.py").info.name == "usual"


def test_of_several_others_one_must_be_named(write: Write) -> None:
    write("two.py", ONE + "hawk = Server('hawk')\n")
    assert told(ValueError, "two.py") == (
        "two.py has several servers: say which, as two.py:kite or two.py:hawk"
    )
    assert load_server("two.py:hawk").info.name == "hawk"


@pytest.mark.parametrize("target", ["made.py:create", "made.py:create()", "made.py:later"])
def test_a_function_that_returns_a_server_is_called(write: Write, target: str) -> None:
    write(
        "made.py",
        """
        from wigwag import Server

        def create() -> Server:
            return Server("made")

        async def later() -> Server:
            return Server("made")
        """,
    )
    assert load_server(target).info.name == "made"


def test_a_server_may_be_a_member_of_something(write: Write) -> None:
    write("one.py", "import types\n" + ONE + "box = types.SimpleNamespace(kite=kite)\n")
    assert load_server("one.py:box.kite").info.name == "kite"


# --- how it is loaded


def test_what_is_below_main_is_not_run(write: Write) -> None:
    write("one.py", ONE + 'if __name__ == "__main__":\n    raise AssertionError\n')
    assert isinstance(load_server("one.py"), Server)


def test_modules_beside_the_file_can_be_imported(write: Write) -> None:
    write("folder/beside.py", "NAME = 'beside'\n")
    write("folder/one.py", "from wigwag import Server\nimport beside\nkite = Server(beside.NAME)\n")
    assert load_server("folder/one.py").info.name == "beside"


def test_a_file_of_a_package_can_import_relatively_and_what_is_beside_it(write: Write) -> None:
    write("top/__init__.py", "")
    write("top/inner/__init__.py", "NAME = 'inner'\n")
    write("top/inner/beside.py", "")
    write(
        "top/inner/one.py",
        "from wigwag import Server\nfrom . import NAME\nimport beside\nkite = Server(NAME)\n",
    )
    assert load_server("top/inner/one.py").info.name == "inner"
    assert load_server("top.inner.one:kite").info.name == "inner"
    assert code_folder("top/inner/one.py") == str(Path("top").resolve())


def test_a_file_may_be_named_like_a_module_that_is_loaded(write: Write) -> None:
    write("json.py", ONE)
    assert load_server("json.py").info.name == "kite"
    assert not hasattr(sys.modules["json"], "kite")


def test_a_name_that_is_no_identifier_will_do(write: Write) -> None:
    write("my-server.py", ONE)
    assert load_server("my-server.py").info.name == "kite"


def test_the_code_sees_its_own_arguments_and_nobody_else_does(write: Write) -> None:
    write("one.py", "import sys\nfrom wigwag import Server\nkite = Server(' '.join(sys.argv))\n")
    before = list(sys.argv)
    assert load_server("one.py", ["--database", "x"]).info.name == "one.py --database x"
    assert sys.argv == before


def test_the_folder_of_the_code_is_that_of_the_file_or_where_one_works(write: Write) -> None:
    path = write("folder/one.py", ONE)
    assert code_folder("folder/one.py:kite") == str(path.parent)
    assert code_folder("some.module") == str(Path.cwd())


def test_who_runs_it_settles_its_arguments_and_what_is_shown_of_its_log(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[object] = []
    monkeypatch.setattr(sys, "argv", ["wigwag", "run"])
    monkeypatch.setattr("logging.basicConfig", lambda **options: settled.append(options))
    monkeypatch.setattr("logging.root.level", 30)
    monkeypatch.setattr("logging.root.setLevel", settled.append)
    write("one.py", ONE)
    Code("one.py").load()
    assert settled == []
    Code("one.py:kite", ["own"], log_level="info").load()
    assert sys.argv == ["one.py", "own"]
    assert settled[1:] == ["INFO"]


def test_of_code_that_may_change_no_bytecode_is_kept_that_could_stand_for_what_it_was(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write("one.py", ONE)
    Code("one.py").load()
    assert [path.name.split(".")[0] for path in tmp_path.rglob("*.pyc")] == ["one"]
    write("two.py", ONE)
    Code("two.py", may_change=True).load()
    assert [path.name.split(".")[0] for path in tmp_path.rglob("*.pyc")] == ["one"]


# --- what is not there


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("oen.py", "there is no file oen.py; did you mean one.py?"),
        ("nothing/at/all.py", "there is no file nothing/at/all.py"),
        ("one.py:kit", "there is no kit in one.py; did you mean one.py:kite?"),
        ("one.py:quite_other", "there is no quite_other in one.py; did you mean one.py:kite?"),
        ("two.module:x", "there is no module two: it is looked for in "),
        (".", ". is a folder: name the file; Python files in it: one.py"),
        ("mcp.json", "mcp.json is a configuration: name the file of the server itself"),
        ("note.txt", "note.txt is not a Python file"),
        ("https://example.com/mcp", "https://example.com/mcp runs already"),
        ("a server", "'a server' names no server: write server.py, server.py:name or"),
        ("one.py:NUMBER", "one.py:NUMBER is of type int, and neither a Server nor a function"),
    ],
)
def test_what_is_not_there_is_told_with_what_was_meant(
    write: Write, target: str, what: str
) -> None:
    write("one.py", ONE + "NUMBER = 1\n")
    write("note.txt", "")
    assert what in told(ValueError, target)


@pytest.mark.parametrize(
    ("text", "target", "what"),
    [
        ("", "x.py", "no Server at the top level of x.py; if a function makes it, name that"),
        (
            "from __future__ import annotations\nfrom wigwag import Server\n"
            "def make() -> Server: ...\n",
            "x.py",
            "no Server at the top level of x.py; make makes one: write x.py:make",
        ),
        ("def make(): ...\n", "x.py:make", "x.py:make returns None, and not a Server"),
        ("def make(): return 1\n", "x.py:make", "returns of type int, and not a Server"),
        ("def make(a): ...\n", "x.py:make", "cannot be called without arguments: missing a req"),
        (
            "class FastMCP:\n    __module__ = 'fastmcp.server'\nmcp = FastMCP()\n",
            "x.py",
            "mcp is a FastMCP of `fastmcp`, which runs in its own way; docs/coming-from-fastmcp.md",
        ),
    ],
)
def test_code_without_a_server_is_told_with_what_it_has(
    write: Write, text: str, target: str, what: str
) -> None:
    write("x.py", text)
    assert what in told(ServerNotLoaded, target)


# --- code that fails


def test_an_error_is_told_with_the_lines_of_the_code_and_none_of_ours(write: Write) -> None:
    beside = write("beside.py", "def fail():\n    raise OSError('no database')\n")
    path = write("x.py", "import beside\n\nbeside.fail()\n")
    assert told(ServerNotLoaded, "x.py").splitlines() == [
        "x.py cannot be loaded: OSError: no database",
        f'  File "{path}", line 3, in <module>',
        "    beside.fail()",
        *(["    ~~~~~~~~~~~^^"] if sys.version_info >= (3, 13) else []),
        f'  File "{beside}", line 2, in fail',
        "    raise OSError('no database')",
    ]


def test_an_error_of_a_decorator_is_told_with_the_line_that_has_it(write: Write) -> None:
    path = write("x.py", ONE + "@kite.tool\ndef add(self, *rest): ...\n")
    text = told(ServerNotLoaded, "x.py")
    assert f'File "{path}", line 5' in text
    assert "wigwag/server" not in text


def test_an_error_of_a_function_that_makes_the_server_is_told_in_the_same_way(
    write: Write,
) -> None:
    path = write("x.py", "async def make():\n    raise ValueError('no token')\n")
    assert told(ServerNotLoaded, "x.py:make").splitlines() == [
        "x.py:make cannot be loaded: ValueError: no token",
        f'  File "{path}", line 2, in make',
        "    raise ValueError('no token')",
    ]


def test_a_syntax_error_is_told_with_its_place(write: Write) -> None:
    path = write("x.py", "def broken(:\n    pass\n")
    lines = told(ServerNotLoaded, "x.py").splitlines()
    assert lines[0] == "x.py cannot be loaded: SyntaxError: invalid syntax"
    assert lines[1] == f'  File "{path}", line 1'
    assert lines[2].strip() == "def broken(:"


def test_a_module_that_is_not_installed_is_told_with_the_python_that_lacks_it(
    write: Write,
) -> None:
    write("x.py", "import no_such_thing.inner\n")
    text = told(ServerNotLoaded, "x.py")
    assert "ModuleNotFoundError: No module named 'no_such_thing'" in text
    assert text.endswith(
        "If no_such_thing is installed, then not for the Python that is used here, which is "
        f"{sys.executable}"
    )
    assert told(ServerNotLoaded, "x").startswith("x cannot be loaded: ModuleNotFoundError")


def test_code_that_runs_its_server_is_told_where_that_belongs(write: Write) -> None:
    path = write("x.py", ONE + "kite.run()\n")
    text = told(ServerNotLoaded, "x.py")
    assert 'put run() below if __name__ == "__main__":' in text
    assert text.endswith(f'File "{path}", line 5, in <module>\n    kite.run()') or "~~" in text


def test_code_that_leaves_is_told_where(write: Write) -> None:
    path = write("x.py", "import sys\nsys.exit('usage: x')\n")
    text = told(ServerNotLoaded, "x.py")
    assert "leaves while it is loaded, by sys.exit('usage: x')" in text
    assert f'File "{path}", line 2' in text


def test_code_that_has_failed_can_be_loaded_once_it_is_mended(write: Write) -> None:
    write("x.py", "import y")
    told(ServerNotLoaded, "x.py")
    write("x.py", ONE)
    assert load_server("x.py").info.name == "kite"


def test_a_package_that_hides_the_file_is_told(write: Write) -> None:
    write("first/json/__init__.py", "")
    write("first/json/one.py", ONE)
    assert "No module named 'json.one'" in told(ServerNotLoaded, "first/json/one.py")

"""Holds the public names to what they promise: there, sorted, described, and loaded when used."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

import wigwag

LAZY = [name for name in wigwag.__all__ if name != "__version__"]


def modules() -> list[str]:
    found = pkgutil.walk_packages(wigwag.__path__, "wigwag.")
    return ["wigwag", *(module.name for module in found if not module.name.endswith("__main__"))]


def as_ruff_sorts(name: str) -> tuple[int, str]:
    """Constants first, then classes, then the rest: isort's order."""
    if name.isupper() and len(name) > 1:
        return 0, name
    return (1 if name[:1].isupper() else 2), name


@pytest.mark.parametrize("name", modules())
def test_every_list_of_names_is_sorted_and_true(name: str) -> None:
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None)
    if names is None:
        return
    assert len(names) == len(set(names))
    assert list(names) == sorted(names, key=as_ruff_sorts)
    missing = [entry for entry in names if not hasattr(module, entry)]
    assert missing == []


@pytest.mark.parametrize("name", modules())
def test_every_module_says_what_it_is_responsible_for(name: str) -> None:
    module = importlib.import_module(name)
    if name.endswith("._version"):
        return
    assert (module.__doc__ or "").strip().partition("\n")[0].endswith((".", ":")), name


def described_in(module: ModuleType) -> list[tuple[str, Any]]:
    """Return what a module defines itself and does not hide, with its name."""
    return [
        (name, value)
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


@pytest.mark.parametrize("name", modules())
def test_everything_public_is_described(name: str) -> None:
    bare: list[str] = []
    for title, value in described_in(importlib.import_module(name)):
        if not _is_described(value):
            bare.append(title)
        if inspect.isclass(value):
            bare += [
                f"{title}.{member}"
                for member, function in vars(value).items()
                if not member.startswith("_")
                and inspect.isfunction(function)
                and not inspect.getdoc(getattr(value, member))
                and not getattr(value, "_is_protocol", False)
            ]
    assert bare == []


def _is_described(value: Any) -> bool:
    doc: str | None = value.__dict__.get("__doc__") if inspect.isclass(value) else value.__doc__
    return bool(doc and doc.strip())


# What has another name of its own, or none.
ALIASES = {"ElicitationOutcome", "ElicitationResult", "Resolve"}


@pytest.mark.parametrize("name", LAZY)
def test_every_name_at_the_top_is_loaded_when_it_is_used(name: str) -> None:
    value = getattr(wigwag, name)
    if name not in ALIASES:
        assert value.__name__ == name
        assert value.__module__ == wigwag._HOMES[name]
    home = importlib.import_module(wigwag._HOMES[name])
    assert getattr(home, name) is value
    assert name in dir(wigwag)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'wigwag' has no attribute 'Nonsense'"):
        wigwag.Nonsense  # noqa: B018 - reading it is the test


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version  # noqa: PLC0415 - used here only

    assert wigwag.__version__ == version("wigwag")


def loaded_by(statement: str) -> set[str]:
    """Return what a fresh interpreter has loaded of Wigwag after a statement."""
    script = f"import sys\n{statement}\nprint(*(m for m in sys.modules if m.startswith('wigwag')))"
    done = subprocess.run(  # one short program
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_else() -> None:
    assert loaded_by("import wigwag") == {"wigwag", "wigwag._version"}


@pytest.mark.parametrize(
    ("statement", "spared"),
    [
        ("from wigwag import Server", ["wigwag.client", "wigwag.transports.stdio_client"]),
        ("from wigwag import Client", ["wigwag.server"]),
        ("from wigwag import ToolError", ["wigwag.server", "wigwag.client", "wigwag.schema"]),
    ],
)
def test_who_uses_one_side_does_not_pay_for_the_other(statement: str, spared: list[str]) -> None:
    loaded = loaded_by(statement)
    assert [module for module in spared if module in loaded] == []
    assert len(loaded) > 2

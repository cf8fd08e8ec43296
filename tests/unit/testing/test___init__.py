import subprocess
import sys

import pytest

import wigwag.testing


def test_every_name_is_loaded_when_it_is_used() -> None:
    for name in wigwag.testing.__all__:
        assert getattr(wigwag.testing, name).__name__ == name
        assert name in dir(wigwag.testing)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'wigwag\.testing' has no attribute 'Nonsense'"):
        wigwag.testing.Nonsense  # noqa: B018 - reading it is the test


def test_pytest_loads_no_more_than_the_plugin_itself() -> None:
    script = (
        "import pytest, sys; before = set(sys.modules); import wigwag.testing.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = [name for name in done.stdout.split() if not name.startswith("_")]
    assert loaded == ["wigwag", "wigwag._version", "wigwag.testing", "wigwag.testing.plugin"]

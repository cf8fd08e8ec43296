"""The variables in the configurations of hosts."""

import os
from pathlib import Path

import pytest

from wigwag.client.variables import Variables

FOLDER = Path("/home/ada/cats")
VARIABLES = Variables(
    inputs={"api-key": "secret", "odd": "${A}"},
    workspace_folder=FOLDER,
    environment={"A": "1", "EMPTY": "", "ProgramFiles(x86)": "there", "ODD": "${A} $A"},
)


@pytest.mark.parametrize(
    ("text", "filled_in"),
    [
        ("as it is", "as it is"),
        ("", ""),
        ("${A}", "1"),
        ("${env:A}", "1"),
        ("a${A}b${A}c", "a1b1c"),
        ("$A and $$ and {A}", "$A and $$ and {A}"),
        ("${A:-2}", "1"),
        ("${NONE:-2}", "2"),
        ("${env:NONE:-2}", "2"),
        ("${NONE:-}", ""),
        ("${NONE:-http://x:1/}", "http://x:1/"),
        ("${EMPTY:-2}", ""),
        ("${env:ProgramFiles(x86)}", "there"),
        ("${ODD}", "${A} $A"),
        ("Bearer ${input:api-key}", "Bearer secret"),
        ("${input:odd}", "${A}"),
        ("${workspaceFolder}/server.py", "/home/ada/cats/server.py"),
        ("${workspaceFolderBasename}", "cats"),
        ("${userHome}", str(Path.home())),
        ("${cwd}", os.getcwd()),
        ("a${pathSeparator}b${/}c", os.sep.join("abc")),
    ],
)
def test_a_variable_is_filled_in(text: str, filled_in: str) -> None:
    assert VARIABLES.fill_in(text) == filled_in


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("${NONE}", "there is no environment variable NONE: set it, or write ${NONE:-default}"),
        ("${env:NONE}",
         "there is no environment variable NONE: set it, or write ${NONE:-default}"),
        ("${input:pin}",
         "${input:pin} has no value: give load_configuration() `inputs={'pin': …}`"),
        ("${command:pick}", "${command:pick} is not known"),
        ("${A-2}", "${A-2} is not known"),
        ("${env:}", "${env:} is not known"),
        ("${}", "${} is not known"),
        ("${A", "a `${` has no `}` of its own; variables do not nest"),
        ("${A:-${B}}", "a `${` has no `}` of its own; variables do not nest"),
    ],
)  # fmt: skip
def test_what_has_no_value_is_told(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"variable|is not known|no value") as caught:
        VARIABLES.fill_in(text)
    assert str(caught.value) == problem


def test_by_default_it_is_the_environment_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = Variables()
    monkeypatch.setenv("WIGWAG_CATS", "7")
    assert variables.fill_in("${WIGWAG_CATS}") == "7"
    assert variables.fill_in("${workspaceFolder}") == os.getcwd()

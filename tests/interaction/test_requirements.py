import ast
from pathlib import Path

from tests.interaction.requirements import ALL, LEGACY, MODERN, REQUIREMENTS
from wigwag.schema import REVISIONS

TESTS = {
    node.name
    for path in Path(__file__).parent.glob("test_*.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
}


def test_every_requirement_has_tests_and_every_test_exists() -> None:
    assert [id_ for id_, requirement in REQUIREMENTS.items() if not requirement.tests] == []
    named = [test for requirement in REQUIREMENTS.values() for test in requirement.tests]
    assert [test for test in named if test not in TESTS] == []
    assert len(named) == len(set(named))


def test_every_requirement_is_about_revisions_that_exist_and_says_what() -> None:
    for requirement in REQUIREMENTS.values():
        assert requirement.revisions in (ALL, LEGACY, MODERN, *REVISIONS)
        assert requirement.sentence.endswith(".")

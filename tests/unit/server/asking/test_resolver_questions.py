from dataclasses import dataclass

import msgspec
import pytest

from wigwag.server.asking.questions import elicit, list_roots, sample
from wigwag.server.asking.resolver_questions import Elicit, ListRoots, Sample


@dataclass
class Order:
    title: str
    copies: int = 1


def test_elicit_makes_the_question_that_the_function_makes() -> None:
    ours, same = Elicit("Which?", Order, timeout=3), elicit("Which?", Order, timeout=3)
    assert ours.params == same.params
    assert (ours.timeout, ours.method, ours.key) == (3, same.method, same.key)
    answer = msgspec.Raw(b'{"action":"accept","content":{"title":"Dune","copies":2}}')
    assert ours.read(answer).data == Order("Dune", 2)


def test_elicit_says_of_what_type_the_answer_is() -> None:
    assert Elicit[Order].__origin__ is Elicit  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        Elicit("Which?", dict[str, dict[str, int]])


def test_sample_and_list_roots_make_the_questions_that_the_functions_make() -> None:
    ours = Sample(["hello"], max_tokens=5, temperature=0.5)
    same = sample(["hello"], max_tokens=5, temperature=0.5)
    assert (ours.params, ours.timeout, ours.method) == (same.params, same.timeout, same.method)
    assert ListRoots(timeout=2).timeout == 2
    assert ListRoots().method == list_roots().method

from wigwag.oauth.scopes import (
    FailedStepUps,
    choose_scopes,
    join_scopes,
    read_scopes,
    write_scopes,
)


def test_scopes_are_read_once_each_and_in_order() -> None:
    assert read_scopes("b a  b ") == ("b", "a")
    assert write_scopes(("b", "a")) == "b a"
    assert read_scopes("") == ()


def test_what_can_be_no_scope_is_passed_over() -> None:
    assert read_scopes('a "b" c\\d é \x00 mcp:tools/x.y') == ("a", "mcp:tools/x.y")
    assert read_scopes("x" * 257) == ()
    assert len(read_scopes(" ".join(f"s{number}" for number in range(1000)))) == 128


def test_the_union_keeps_what_came_first_first() -> None:
    assert join_scopes(("a", "b"), (), ("c", "a")) == ("a", "b", "c")


def test_a_challenge_counts_more_than_the_metadata() -> None:
    assert choose_scopes(challenged=("c",), of_resource=("r",)) == ("c",)
    assert choose_scopes(challenged=None, of_resource=("r",)) == ("r",)
    assert choose_scopes(challenged=None, of_resource=None) == ()
    assert choose_scopes(challenged=("c",), of_resource=("r",), before=("b",)) == ("b", "c")
    assert choose_scopes(challenged=None, of_resource=("r",), before=("b",)) == ("b",)
    assert choose_scopes(challenged=("c",), of_resource=None, wanted=("w",)) == ("c", "w")


def test_failed_step_ups_are_known_by_resource_operation_and_scopes() -> None:
    failed = FailedStepUps()
    failed.add("r", "o", ("a", "b"))
    assert failed.has("r", "o", ("b", "a"))
    assert not failed.has("r", "o", ("a",))
    assert not failed.has("r", "p", ("a", "b"))
    assert not failed.has("q", "o", ("a", "b"))
    failed.clear()
    assert not failed.has("r", "o", ("a", "b"))


def test_only_so_many_failed_step_ups_are_remembered() -> None:
    failed = FailedStepUps()
    for number in range(300):
        failed.add("r", str(number), ())
    assert not failed.has("r", "43", ())
    assert failed.has("r", "44", ())
    assert failed.has("r", "299", ())

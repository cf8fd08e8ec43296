from wigwag.server.asking.asking import Names


def test_a_name_that_is_wanted_again_is_numbered() -> None:
    names = Names()
    assert [names.take("a") for _ in range(3)] == ["a", "a-2", "a-3"]
    assert names.take("b") == "b"


def test_no_name_is_handed_out_twice() -> None:
    names = Names()
    taken = [names.take(name) for name in ("a-2", "a", "a", "a-2", "a")]
    assert taken == ["a-2", "a", "a-3", "a-2-2", "a-4"]


def test_a_name_can_be_claimed_and_others_be_left_out() -> None:
    names = Names()
    names.claim("a")
    assert names.next("a") == "a-2"
    assert names.take("a", besides={"a-2", "a-3"}) == "a-4"
    assert names.take("a") == "a-2"


def test_a_name_is_akin_to_what_it_was_made_of() -> None:
    assert all(Names.are_akin(name, "a") for name in ("a", "a-2", "a-31"))
    assert not any(
        Names.are_akin(name, "a") for name in ("b", "ab", "a-", "a-x", "a2", "", "a-2-2")
    )

from wigwag.server.asking import Names


def test_a_name_that_is_wanted_again_is_numbered() -> None:
    names = Names()
    assert [names.take("a") for _ in range(3)] == ["a", "a-2", "a-3"]
    assert names.take("b") == "b"


def test_no_name_is_handed_out_twice() -> None:
    names = Names()
    taken = [names.take(name) for name in ("a-2", "a", "a", "a-2", "a")]
    assert taken == ["a-2", "a", "a-3", "a-2-2", "a-4"]

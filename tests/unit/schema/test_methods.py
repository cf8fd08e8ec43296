import pytest

from wigwag.schema import (
    LEGACY_REVISIONS,
    METHODS,
    NOTIFICATIONS_PROGRESS,
    PING,
    REVISIONS,
    SAMPLING_CREATE_MESSAGE,
    SERVER_DISCOVER,
    TASKS_GET,
    TOOLS_CALL,
    V2025_11_25,
    V2026_07_28,
)


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        METHODS["tools/paint"] = METHODS[TOOLS_CALL]  # type: ignore[index]


def test_a_method_exists_from_its_first_to_its_last_revision() -> None:
    assert [r for r in REVISIONS if METHODS[PING].exists_in(r)] == list(LEGACY_REVISIONS)
    assert [r for r in REVISIONS if METHODS[TASKS_GET].exists_in(r)] == [V2025_11_25]
    assert [r for r in REVISIONS if METHODS[SERVER_DISCOVER].exists_in(r)] == [V2026_07_28]


def test_each_side_sends_its_own_methods() -> None:
    call, ask = METHODS[TOOLS_CALL], METHODS[SAMPLING_CREATE_MESSAGE]
    assert call.may_be_sent_by("client", V2025_11_25)
    assert not call.may_be_sent_by("server", V2025_11_25)
    assert ask.may_be_sent_by("server", V2025_11_25)
    assert not ask.may_be_sent_by("client", V2025_11_25)
    assert not ask.may_be_sent_by("server", V2026_07_28)


def test_in_the_modern_era_only_servers_report_progress() -> None:
    progress = METHODS[NOTIFICATIONS_PROGRESS]
    assert progress.may_be_sent_by("client", V2025_11_25)
    assert progress.may_be_sent_by("server", V2026_07_28)
    assert not progress.may_be_sent_by("client", V2026_07_28)


def test_names_are_unique() -> None:
    assert all(METHODS[name].name == name for name in METHODS)

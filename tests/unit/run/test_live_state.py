"""What the panel keeps of a moment waits for no disk; what has to last does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from orchestrator.run.progress import live_state
from orchestrator.run.progress.live_state import PanelState
from orchestrator.system import files

STATE = PanelState("a campaign", written_s=1_000.0, elapsed_s=60.0)


def count_syncs(work: Callable[[], None]) -> int:
    """How often `work` waits for a disk to have what was written."""
    syncs = 0

    # The tests' own, which waits for no disk.
    syncing = os.fsync.__code__

    def hear(frame: FrameType, event: str, _: object) -> None:
        nonlocal syncs
        if event == "call" and frame.f_code is syncing:
            syncs += 1

    sys.setprofile(hear)
    try:
        work()
    finally:
        sys.setprofile(None)
    return syncs


def test_the_state_of_a_moment_waits_for_no_disk(tmp_path: Path) -> None:
    assert count_syncs(lambda: live_state.keep(tmp_path, STATE)) == 0
    assert live_state.kept(tmp_path, now_s=1_000.0) == STATE


def test_a_file_that_has_to_last_waits_for_its_bytes_and_its_name(
    tmp_path: Path,
) -> None:
    def write() -> None:
        with files.replacing(
            tmp_path / "plan.json", private=True, lasting=True
        ) as opened:
            opened.write(b"{}")

    assert count_syncs(write) == 2


def test_a_new_file_of_a_person_waits_for_its_bytes(tmp_path: Path) -> None:
    assert (
        count_syncs(
            lambda: files.write_new(tmp_path / "tier.yaml", "a: 1", private=True)
        )
        == 1
    )
    assert (tmp_path / "tier.yaml").read_text() == "a: 1"


def test_a_state_is_shown_for_as_long_as_it_is_fresh(tmp_path: Path) -> None:
    live_state.keep(tmp_path, STATE)
    last_s = STATE.written_s + live_state.FRESH_S
    assert live_state.kept(tmp_path, now_s=last_s) == STATE
    assert live_state.kept(tmp_path, now_s=last_s + 0.1) is None


def test_no_state_is_shown_where_none_is_kept_or_it_was_forgotten(
    tmp_path: Path,
) -> None:
    live_state.forget(tmp_path)
    assert live_state.kept(tmp_path, now_s=1_000.0) is None
    live_state.keep(tmp_path, STATE)
    live_state.forget(tmp_path)
    assert live_state.kept(tmp_path, now_s=1_000.0) is None

"""`--slow` reaches the plan and is stored with it, and what cannot be asked is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.errors import UsageError
from orchestrator.model import Plan
from orchestrator.system import campaign_writing, store
from orchestrator.tier.slow_disk import SlowDisk
from tests.apps import an_app

TENTH = SlowDisk("node-1", "share", 10.0, 2.0)


def planned(tmp_path: Path, *slow: str, windows: str = "scale") -> Plan:
    request = Request(
        profiles=["premium", "ultra"],
        workloads=["point-select", "insert"],
        database="postgresql",
        scale="smoke",
        nodes=1,
        repetitions=2,
        slow=list(slow),
        windows=windows,  # type: ignore[arg-type]
    )
    return plans.make_plan(an_app(tmp_path), request)


def test_all_workloads_have_the_slow_disks_and_keep_them_in_the_store(
    tmp_path: Path,
) -> None:
    plan = planned(tmp_path, "node-1=10%,2s", "node-1=stall,1s@5s")
    stall = SlowDisk("node-1", "stall", 0.0, 1.0, 5.0)
    assert [load.slow for load in plan.workloads] == [(TENTH, stall)] * 2
    folder = campaign_writing.create(tmp_path, plan, {}, 0.0)
    assert store.load(folder).plan == plan


def test_without_the_option_no_disk_is_slow(tmp_path: Path) -> None:
    assert [load.slow for load in planned(tmp_path).workloads] == [(), ()]


def test_a_window_with_a_slow_disk_is_not_shortened(tmp_path: Path) -> None:
    plain = planned(tmp_path).workloads[0].measure_s
    plan = planned(tmp_path, "node-1=10%,2s", windows="many")
    assert plan.workloads[0].measure_s == plain
    notes = [note.text for note in plan.notes if note.kind == "no effect"]
    assert any("a disk is slow in it" in text for text in notes)


def test_a_plan_whose_windows_end_too_soon_to_recover_says_so(tmp_path: Path) -> None:
    """Beforehand: after hours of runs it would be the first time that it is said."""
    # The window of 7 s has 2.5 s behind the slow disk in its middle.
    plan = planned(tmp_path, "node-1=10%,2s")
    texts = [note.text for note in plan.notes]
    (text,) = [text for text in texts if "window of insert ends" in text]
    assert (
        "ends 2.50 s after the slow disk. To see the load recover it takes 6 s" in text
    )
    early = planned(tmp_path, "node-1=stall,800ms@100ms")
    assert not [note for note in early.notes if "after the slow disk" in note.text]


def test_what_is_no_slow_disk_is_a_mistake_with_its_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        planned(tmp_path, "node-1=1x,2s")
    (mistake,) = raised.value.mistakes
    assert mistake.where == "--slow node-1=1x,2s" and "more than 1x" in mistake.what

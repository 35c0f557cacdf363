"""What is said of a plan before it is carried out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.design import slow_disks
from orchestrator.planning import notes
from orchestrator.tier import NodeDisks
from orchestrator.tier.slow_disk import SlowDisk
from tests.plans import a_profile, a_workload
from tests.tiers import changed

LEFT_S = slow_disks.LEFT_TO_RECOVER_S


@pytest.mark.parametrize(
    ("left_s", "is_said"),
    [(0.0, False), (0.1, True), (LEFT_S - 0.1, True), (LEFT_S, False)],
)
def test_a_window_that_ends_soon_after_a_slow_disk_is_told(
    left_s: float, is_said: bool
) -> None:
    """One that ends with it is refused elsewhere."""
    slow = (SlowDisk("node-1", "stall", 0.0, 20.0, 10.0),)
    workload = replace(a_workload(), slow=slow, measure_s=30.0 + left_s)
    texts = [note.text for note in notes.of_slow_disks([workload, a_workload()])]
    assert bool(texts) is is_said
    assert all("point-select ends" in text for text in texts)


def test_a_load_without_sizes_at_a_scale_is_told() -> None:
    load = a_workload()
    assert list(notes.of_scale([load], load.scale)) == []
    (note,) = notes.of_scale([load], "study")
    assert note.kind == "other scale"
    assert note.text == "point-select runs at scale smoke, which is its study"


@pytest.mark.parametrize(("disks", "is_said"), [(1, False), (2, True)])
def test_which_disk_is_measured_alone_is_told_where_there_are_others(
    disks: int, is_said: bool
) -> None:
    named = {f"node-{n}": NodeDisks(f"/mnt/{n}") for n in range(1, disks + 1)}
    profile = a_profile(nodes=disks)
    tier = changed(profile.tier, like="mounted", disks=named)
    alone = replace(a_workload(), database="none")
    told = list(notes.of_disks_alone([replace(profile, tier=tier)], [alone]))
    assert bool(told) is is_said

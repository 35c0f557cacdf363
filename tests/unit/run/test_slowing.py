"""One node's disk is slow in the window and as declared again: when, what is kept and refused.

Method: a tier that only notes what it is asked, and a clock that is moved by who waits.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.design import boxed_work
from orchestrator.errors import GateError, NodeError, UsageError, VoidError
from orchestrator.keys.slow_disks import slow_disk_in
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import Cluster, Node, Plan
from orchestrator.parts import ClientLoad, Disks
from orchestrator.powers import World
from orchestrator.run.record.run_context import Draft, RunContext
from orchestrator.run.window import slowing
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.tiers import tier_mechanisms
from orchestrator.tiers.dry import DryTier
from tests.fake_parts import FakeTier, fake_parts
from tests.fakes import FakeClock, Log, fake_world
from tests.plans import a_plan
from tests.tiers import a_tier, changed

NO_DISKS = Disks((), {})
CLUSTER = Cluster("postgresql", "17", (), (), "net")
CLIENT = Node("client", "client")
TENTH = "node-3=10%,20s"


class TimedTier(FakeTier):
    """Notes when each disk was changed. `refuses`: it does not become slow."""

    def __init__(self, clock: FakeClock, refuses: bool = False) -> None:
        super().__init__(Log(), restores=True)
        self._clock = clock
        self._refuses = refuses
        self.changed: list[tuple[float, str]] = []
        self.is_slow = threading.Event()

    def slow(self, _: Any, __: Any, slow: SlowDisk, *___: Any) -> dict[str, float]:
        if self._refuses:
            raise GateError("the disk enforces iops=100, expected 10")
        self.changed.append((self._clock.now(), f"{slow.disk} {slow.how}"))
        self.is_slow.set()
        return {"iops": slow.amount}

    def restore(self, _: Any, __: Any, slow: SlowDisk, *___: Any) -> dict[str, float]:
        self.changed.append((self._clock.now(), f"{slow.disk} back"))
        return {"iops": 100.0}


def planned(*texts: str, **changes: Any) -> Plan:
    plan = a_plan()
    (load,), (profile,) = plan.workloads, plan.profiles
    slow = tuple(slow_disk_in(text) for text in texts)
    cluster = replace(profile.cluster, nodes=3, replication_factor=3)
    loads = (replace(load, **{"measure_s": 60.0, "slow": slow, **changes}),)
    profiles = (replace(profile, cluster=cluster),)
    return replace(plan, workloads=loads, profiles=profiles)


def run_of(
    folder: Path, *texts: str, refuses: bool = False
) -> tuple[RunContext, TimedTier]:
    clock = FakeClock()
    plan = planned(*texts)
    world = fake_world(clock=clock)
    tier = TimedTier(clock, refuses)
    parts = replace(fake_parts(Log()), tiers={"emulated": tier})
    draft = Draft(nodes=[Node("node-3", "database", machine="here")])
    here: Any = RunContext(plan, plan.runs[0], parts, Any, folder, world, draft, {})  # type: ignore[arg-type]
    return here, tier


def carried(here: RunContext, load: Callable[[World], None]) -> None:
    asked = ClientLoad(here.workload, CLUSTER, CLIENT, here.raw, here.world)
    with slowing.slowing(here, NO_DISKS, asked) as accompanied:
        load(accompanied.world)


def kept(here: RunContext) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = json.loads((here.raw / "slow.json").read_text())[
        "parts"
    ]
    return parts


def test_a_disk_is_slow_in_the_middle_of_the_window_and_its_times_are_kept(
    tmp_path: Path,
) -> None:
    here, tier = run_of(tmp_path, TENTH)
    # The window has begun so long ago that all is done at once.
    begin_s = here.world.clock.now() - 40.0
    carried(here, lambda world: world.window_begins(begin_s))
    assert [what for _, what in tier.changed] == ["node-3 share", "node-3 back"]
    (part,) = kept(here)
    assert part["slow_s"] >= begin_s + 20 and part["back_s"] >= begin_s + 40
    assert (part["node"], part["how"], part["amount"]) == ("node-3", "share", 10.0)
    assert part["enforced"] == {"iops": 10.0} and part["restored"] == {"iops": 100.0}


def test_one_follows_the_other_on_the_same_disk(tmp_path: Path) -> None:
    here, tier = run_of(tmp_path, "node-3=10%,10s@10s", "node-3=stall,5s@20s")
    begin_s = here.world.clock.now() - 25.0
    carried(here, lambda world: world.window_begins(begin_s))
    words = [what for _, what in tier.changed]
    assert words == ["node-3 share", "node-3 back", "node-3 stall", "node-3 back"]
    assert len(kept(here)) == 2


def test_both_disks_of_a_node_are_slow_at_the_same_time(tmp_path: Path) -> None:
    here, tier = run_of(tmp_path, "node-3=10%,20s@10s", "node-3.wal=stall,5s@20s")
    begin_s = here.world.clock.now() - 35.0
    carried(here, lambda world: world.window_begins(begin_s))
    words = [what for _, what in tier.changed]
    assert words == [
        "node-3 share",
        "node-3.wal stall",
        "node-3.wal back",
        "node-3 back",
    ]
    assert [part["of_log"] for part in kept(here)] == [True, False]


def test_a_load_that_ends_before_makes_the_run_void(tmp_path: Path) -> None:
    here, _ = run_of(tmp_path, TENTH)
    with pytest.raises(VoidError, match="the load had ended before"):
        carried(here, lambda _: None)
    assert not (here.raw / "slow.json").exists()


def test_a_disk_that_does_not_become_slow_makes_the_run_void(tmp_path: Path) -> None:
    here, tier = run_of(tmp_path, TENTH, refuses=True)
    begin_s = here.world.clock.now() - 40.0
    with pytest.raises(VoidError, match="enforces iops=100, expected 10"):
        carried(here, lambda world: world.window_begins(begin_s))
    assert [what for _, what in tier.changed] == ["node-3 back"], "it may be slow"
    assert not (here.raw / "slow.json").exists()


def test_a_disk_that_is_back_after_the_window_makes_the_run_void(
    tmp_path: Path,
) -> None:
    """An engine that answers late: the time meanwhile would not be within the window."""
    here, tier = run_of(tmp_path, TENTH)
    # The window of 60 s has begun so long ago that it is over.
    begin_s = here.world.clock.now() - 61.0
    with pytest.raises(VoidError, match="as declared again 1 s after the window"):
        carried(here, lambda world: world.window_begins(begin_s))
    assert tier.changed[-1][1] == "node-3 back", "it is set back all the same"
    assert not (here.raw / "slow.json").exists()


def test_a_disk_that_is_back_as_the_window_ends_was_slow_within_it(
    tmp_path: Path,
) -> None:
    here, _ = run_of(tmp_path, TENTH)
    begin_s = here.world.clock.now() - 60.0
    carried(here, lambda world: world.window_begins(begin_s))
    assert len(kept(here)) == 1


@pytest.mark.parametrize("broken_off_by", [KeyboardInterrupt, NodeError])
def test_a_disk_is_as_declared_again_when_the_load_breaks_off(
    tmp_path: Path, broken_off_by: type[BaseException]
) -> None:
    """A database cannot be stopped on a disk that answers nothing for minutes."""
    here, tier = run_of(tmp_path, "node-3=stall,30s")

    def breaks_off(world: World) -> None:
        world.window_begins(here.world.clock.now() - 20.0)
        tier.is_slow.wait()
        raise broken_off_by("in the window")

    with pytest.raises(broken_off_by):
        carried(here, breaks_off)
    assert [what for _, what in tier.changed] == ["node-3 stall", "node-3 back"]
    assert not (here.raw / "slow.json").exists()


def test_other_workloads_change_no_disk(tmp_path: Path) -> None:
    here, tier = run_of(tmp_path)
    carried(here, lambda world: world.window_begins(0.0))
    assert tier.changed == [] and not (here.raw / "slow.json").exists()


def check(plan: Plan, tier: Any = None, **changes: Any) -> None:
    parts = fake_parts(Log())
    tiers = {"emulated": tier or FakeTier(Log(), restores=True)}
    generators = changes.pop("generators", {"sysbench": Sysbench()})
    parts = replace(parts, tiers=tiers, load_generators=generators)
    (load,), (profile,) = plan.workloads, plan.profiles
    if changes:
        profile = replace(profile, tier=changed(profile.tier, **changes))
    slowing.check(load, profile, parts)


def test_what_can_be_slow_is_not_refused() -> None:
    check(planned(TENTH))
    # Just one I/O a second, and one of 256 KiB.
    check(planned("node-3=0.1%,20s"), iops=1_000, bytes_per_s=None)
    check(planned("node-3=1%,20s"), bytes_per_s=100 * 2**18)
    check(planned("node-3=10x,20s"), read_latency_s=1e-3, write_latency_s=1e-3)
    check(planned("node-3=stall,5s", "node-2=10%,20s"))


def test_the_disk_of_the_wal_is_held_against_its_own_tier() -> None:
    tenfold = planned("node-3.wal=10x,20s")
    with pytest.raises(UsageError, match=r"no node-3.wal: the tier has no disk for"):
        check(tenfold)
    log = a_tier("log", "Log", "emulated", 500, 10**8, 1e-3, 1e-3)
    check(tenfold, wal=log)
    unsaid = changed(log, read_latency_s=None, write_latency_s=None)
    with pytest.raises(UsageError, match="declares no latency"):
        check(tenfold, wal=unsaid)


@pytest.mark.parametrize(
    "kind", [name for name in tier_mechanisms() if name != "emulated"]
)
def test_no_disk_but_an_emulated_one_can_be_slow(kind: str) -> None:
    """Of others nobody can change the limits while they run: on no platform."""
    with pytest.raises(UsageError, match="only emulated ones"):
        check(planned(TENTH), tier_mechanisms()[kind])


def test_an_emulated_disk_can_be_slow() -> None:
    check(planned(TENTH), tier_mechanisms()["emulated"])


@pytest.mark.parametrize(
    ("text", "why", "of_load", "of_check"),
    [
        (TENTH, "measures one disk alone", {"database": "none"}, {}),
        (TENTH, "only emulated ones", {}, {"tier": DryTier()}),
        (
            TENTH,
            "no record of each transaction",
            {},
            {"generators": fake_parts(Log()).load_generators},
        ),
        (
            TENTH,
            "its window has no known end",
            {"script": next(iter(boxed_work._OF_SCRIPTS))},
            {},
        ),
        (TENTH, "`--confirm`", {"confirm_s": 24.0}, {}),
        (TENTH, "`lost_after`", {"lost_after_s": 5.0}, {}),
        ("node-4=10%,20s", "there is no node-4", {}, {}),
        ("node-3=10%,70s", "within the window", {}, {}),
        (TENTH, "neither IOPS nor bytes/s", {}, {"iops": None, "bytes_per_s": None}),
        ("node-3=0.05%,20s", "less than one I/O a second", {}, {"iops": 1100}),
        (
            "node-3=1%,20s",
            "less than one I/O of 256 KiB a second",
            {},
            {"bytes_per_s": 25_000_000},
        ),
        (
            "node-3=10000x,20s",
            "would take 20 s",
            {},
            {"read_latency_s": 2e-3, "write_latency_s": 1e-3},
        ),
        (
            "node-3=10x,20s",
            "declares no latency",
            {},
            {"read_latency_s": None, "write_latency_s": None},
        ),
    ],
)
def test_what_cannot_be_slow_is_refused_before_anything_starts(
    text: str, why: str, of_load: dict[str, Any], of_check: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="no disk can be slow") as raised:
        check(planned(text, **of_load), **of_check)
    assert why in raised.value.what

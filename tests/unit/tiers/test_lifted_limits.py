"""Limits of emulated disks are lifted while nothing is measured, and set and read back before.

Method: disks in memory that keep the limits they are given, as `device set` and `device limits` of
a real one do; what a real one answers is in tests/integration/test_tiers.py.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.errors import GateError, RunError
from orchestrator.facts import TriedLimit
from orchestrator.model import Node, Volume
from orchestrator.parts import Disks
from orchestrator.powers import Completed
from orchestrator.tier import Burst, LatencyModel, Limits, SlowEpochs, Tier
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.tiers.common.emulated import limit_changes
from orchestrator.tiers.common.emulated.server_limits import limits_of
from orchestrator.tiers.emulated import EmulatedTier
from tests.fakes import FakePlatform, completed, fake_world
from tests.tiers import a_tier, changed

CONSTANT = a_tier("premium", "Premium", "emulated", 1100, 125_000_000, 0.003, 0.002)
BURSTS = changed(CONSTANT, burst=Burst(3500, 170_000_000, 30.0, 50.0))
MODEL = LatencyModel(
    ((0.0, 1e-3),), ((0.0, 1e-3),), "s", "2026", SlowEpochs(3.0, 1.0, 2.0)
)
DRAWN = changed(
    CONSTANT, read_latency_s=None, write_latency_s=None, latency_model=MODEL
)
RATES = ("iops", "bytes_per_s", "iops_burst", "bytes_burst")
LATENCIES = ("read_latency_us", "write_latency_us")
NONE = dict.fromkeys(
    ("iops_burst", "iops_burst_length", "bytes_burst", "bytes_burst_length", "stall_s"),
    0.0,
)


class Served(FakePlatform):
    """Two disks of the tier. `stuck`: limits of the second that no `set` changes; `drawn`: constant
    latencies are refused, as by a disk that draws them."""

    def __init__(self, tier: Tier, *stuck: str) -> None:
        super().__init__()
        self.is_gone = False
        at_start = {
            name.replace("-", "_"): float(v) for name, v in limits_of(tier).items()
        }
        self.limits = {
            f"disk-{n}": {**NONE, "burst_start": 100.0, **at_start} for n in (1, 2)
        }
        self.stuck, self._draws = stuck, tier.latency.model is not None
        servers = [
            Node(f"disk-node-{n}", "disk", container=f"disk-{n}") for n in (1, 2)
        ]
        self.disks = Disks(
            tuple(Volume("v", "/dev/l", False, server=one) for one in servers), {}
        )

    def exec(self, container: str, argv: Sequence[str], **_: Any) -> Completed:
        self.asked.append(("exec", container, *argv))
        verb, *settings = argv[1:]
        if self.is_gone:
            return completed("", 69, "device: no disk is served here")
        if verb == "set":
            wanted = dict(one.split("=") for one in settings)
            if self._draws and set(wanted) & set(LATENCIES):
                return completed(
                    "", 64, '{"error": "latencies are drawn from a table"}'
                )
            stuck = self.stuck if container == "disk-2" else ()
            new = {
                name: float(value)
                for name, value in wanted.items()
                if name not in stuck
            }
            self.limits[container] |= new
        return completed(json.dumps(self.limits[container]))


def lifted(tier: Tier, *stuck: str) -> tuple[Served, Any]:
    platform = Served(tier, *stuck)
    world = fake_world(platform=platform)
    EmulatedTier().lift(tier, platform.disks, world)
    return platform, world


@pytest.mark.parametrize(
    "tier", [CONSTANT, BURSTS, DRAWN], ids=["constant", "burst", "drawn"]
)
def test_nothing_is_limited_until_all_is_again(tier: Tier) -> None:
    declared = Served(tier).limits
    platform, world = lifted(tier)
    gone = RATES if tier is DRAWN else (*RATES, *LATENCIES)
    for limits in platform.limits.values():
        assert {name: limits[name] for name in gone} == dict.fromkeys(gone, 0)
    assert platform.limits["disk-1"].get("slow_factor") == declared["disk-1"].get(
        "slow_factor"
    )
    EmulatedTier().enforce(tier, platform.disks, world)
    assert platform.limits == declared
    EmulatedTier().require_enforced(tier, platform.disks, world)
    credits = [
        word for asked in platform.asked for word in asked if word == "burst_start=50"
    ]
    assert len(credits) == (2 if tier is BURSTS else 0), (
        "a bucket is filled as its tier says"
    )


@pytest.mark.parametrize(
    ("tier", "changed_by"),
    [
        (
            CONSTANT,
            {
                "IOPS": {"iops"},
                "bandwidth": {"bytes_per_s"},
                "disk latency": {*LATENCIES},
            },
        ),
        (
            BURSTS,
            {
                "IOPS": {"iops", "iops_burst"},
                "bandwidth": {"bytes_per_s", "bytes_burst"},
            },
        ),
        (DRAWN, {"IOPS": {"iops"}, "bandwidth": {"bytes_per_s"}}),
        (changed(CONSTANT, bytes_per_s=None), {"IOPS": {"iops"}}),
        (
            replace(
                changed(CONSTANT, bytes_per_s=None), shared=Limits(2_000, 8_000_000)
            ),
            {
                "IOPS": {"iops"},
                "shared IOPS": {"shared_iops"},
                "shared bandwidth": {"shared_bytes_per_s"},
            },
        ),
    ],
    ids=["constant", "burst", "drawn", "no bandwidth", "shared"],
)
def test_a_lever_moves_one_limit_of_all_disks_and_back(
    tier: Tier, changed_by: dict[TriedLimit, set[str]]
) -> None:
    """A latency that is drawn, and a limit that is not declared, have none."""
    platform = Served(tier)
    declared = {disk: dict(limits) for disk, limits in platform.limits.items()}
    levers = EmulatedTier().levers(tier, platform.disks, fake_world(platform=platform))
    with_latency = {"disk latency"} if tier.latency.model is None else set()
    assert set(levers) == {*changed_by, *with_latency}
    for name, moved in changed_by.items():
        levers[name](0.75)
        for disk, limits in platform.limits.items():
            unlike = {
                limit: limits[limit]
                for limit in limits
                if limits[limit] != declared[disk][limit]
            }
            assert unlike == {
                limit: round(0.75 * declared[disk][limit]) for limit in moved
            }
        levers[name](1.0)
        assert platform.limits == declared


@pytest.mark.parametrize("name", ["iops", "bytes_per_s", "write_latency_us"])
def test_a_disk_that_does_not_take_its_limit_back_is_never_measured(name: str) -> None:
    platform, world = lifted(CONSTANT)
    platform.stuck = (name,)
    with pytest.raises(GateError, match=rf"enforces {name}=0.0, expected"):
        EmulatedTier().enforce(CONSTANT, platform.disks, world)
    with pytest.raises(GateError, match=rf"enforces {name}=0.0, expected"):
        EmulatedTier().require_enforced(CONSTANT, platform.disks, world)


def test_what_lifting_does_not_touch_is_read_back_too() -> None:
    platform, world = lifted(DRAWN)
    platform.limits["disk-2"]["slow_factor"] = 1.0
    with pytest.raises(GateError, match=r"enforces slow_factor=1.0, expected 3"):
        EmulatedTier().enforce(DRAWN, platform.disks, world)


def test_a_disk_that_does_not_say_what_it_enforces_is_never_measured() -> None:
    platform, world = lifted(DRAWN)
    EmulatedTier().enforce(DRAWN, platform.disks, world)
    del platform.limits["disk-1"]["slow_factor"]
    with pytest.raises(GateError, match="does not say what slow_factor is"):
        EmulatedTier().require_enforced(DRAWN, platform.disks, world)


def test_a_disk_that_does_not_answer_fails_the_run() -> None:
    platform, world = lifted(CONSTANT)
    platform.is_gone = True
    with pytest.raises(RunError, match="no disk is served here"):
        EmulatedTier().enforce(CONSTANT, platform.disks, world)


@pytest.mark.parametrize(
    ("tier", "is_lifted"), [(CONSTANT, True), (DRAWN, True), (None, False)]
)
def test_whether_a_disk_is_lifted(tier: Tier | None, is_lifted: bool) -> None:
    platform = lifted(tier)[0] if tier else Served(CONSTANT)
    world = fake_world(platform=platform)
    assert limit_changes.any_lifted(list(platform.limits), world) is is_lifted


def test_a_stall_ends_when_limits_are_lifted() -> None:
    """One that a person asked for may last for longer than the run."""
    platform = Served(CONSTANT)
    world = fake_world(platform=platform)
    limit_changes.change("disk-2", {"stall_s": 600.0}, world)
    EmulatedTier().lift(CONSTANT, platform.disks, world)
    assert [limits["stall_s"] for limits in platform.limits.values()] == [0, 0]


SHARE = SlowDisk("node-2", "share", 10.0, 60.0)
TENFOLD = SlowDisk("node-2", "latency", 10.0, 60.0)
STALLED = SlowDisk("node-2", "stall", 0.0, 5.0)


@pytest.mark.parametrize(
    ("tier", "slow", "enforced"),
    [
        (CONSTANT, SHARE, {"iops": 110, "bytes_per_s": 12_500_000}),
        (
            BURSTS,
            SHARE,
            {
                "iops": 110,
                "bytes_per_s": 12_500_000,
                "iops_burst": 350,
                "bytes_burst": 17_000_000,
                "iops_burst_length": 300,
                "bytes_burst_length": 300,
            },
        ),
        (
            CONSTANT,
            replace(SHARE, amount=0.25),
            {"iops": 2.75, "bytes_per_s": 312_500},
        ),
        (
            CONSTANT,
            replace(TENFOLD, amount=1.0001),
            {"read_latency_us": 3000.3, "write_latency_us": 2000.2},
        ),
        (DRAWN, SHARE, {"iops": 110, "bytes_per_s": 12_500_000}),
        (changed(CONSTANT, bytes_per_s=None), SHARE, {"iops": 110}),
        (CONSTANT, TENFOLD, {"read_latency_us": 30_000, "write_latency_us": 20_000}),
        (CONSTANT, STALLED, {"stall_s": 5.0}),
        (DRAWN, STALLED, {"stall_s": 5.0}),
    ],
    ids=[
        "share",
        "burst",
        "no whole number",
        "a little later",
        "drawn",
        "no bandwidth",
        "latency",
        "stall",
        "drawn stall",
    ],
)
def test_the_disk_of_one_node_is_slow_and_as_declared_again(
    tier: Tier, slow: SlowDisk, enforced: dict[str, float]
) -> None:
    platform = Served(tier)
    world = fake_world(platform=platform)
    declared = {disk: dict(limits) for disk, limits in platform.limits.items()}
    told = EmulatedTier().slow(tier, platform.disks, slow, world)
    assert platform.limits["disk-1"] == declared["disk-1"]
    assert platform.limits["disk-2"] == {**declared["disk-2"], **enforced} == told
    told = EmulatedTier().restore(tier, platform.disks, slow, world)
    assert platform.limits == declared
    assert told == declared["disk-2"]


def test_a_disk_that_stays_as_it_is_was_not_slow() -> None:
    platform = Served(CONSTANT, "iops")
    world = fake_world(platform=platform)
    with pytest.raises(GateError, match=r"enforces iops=1100.0, expected"):
        EmulatedTier().slow(CONSTANT, platform.disks, SHARE, world)


def test_the_disk_of_a_node_that_has_none_cannot_be_slow() -> None:
    platform = Served(CONSTANT)
    world = fake_world(platform=platform)
    with pytest.raises(RunError, match="no emulated disk of node-7 is served"):
        EmulatedTier().slow(
            CONSTANT, platform.disks, replace(SHARE, node="node-7"), world
        )

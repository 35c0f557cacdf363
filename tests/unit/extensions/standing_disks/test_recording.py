"""A real disk recorded, and the p99 of a modelled one judged: on fio's figures, without a disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.design.latency_quantiles import quantile_s
from orchestrator.errors import GateError
from orchestrator.extensions.standing_disks import recording
from orchestrator.extensions.standing_disks.recording import (
    RecordingEffort,
    StepRate,
    burst_in,
)
from orchestrator.planning import recorded_disk
from orchestrator.platforms import own_images
from orchestrator.powers import Clock, Container, World
from orchestrator.tier import LatencyModel, SlowEpochs
from orchestrator.tiers.common.emulated import disk_server
from orchestrator.tiers.common.emulated.disk_files import DiskFile
from orchestrator.tiers.common.emulated.server_limits import limits_of
from orchestrator.tiers.common.gate import expected
from tests import ROOT
from tests.clocks import SetClock
from tests.fakes import FakeClock, FakePlatform, fake_world
from tests.tiers import a_tier, changed

DIRECTIONS = ("read", "write")
READS = ((0.0, 0.0003), (0.5, 0.0005), (0.99, 0.004), (1.0, 0.02))
WRITES = ((0.0, 0.0009), (0.5, 0.002), (0.99, 0.006), (1.0, 0.03))
MODEL = LatencyModel(READS, WRITES, "a test", "2026-01-01")
TIER = a_tier(
    "x", "X", "emulated", 1000, 100_000_000, 0.0005, 0.002, latency_model=MODEL
)

# ------------------------------------------------------------------ the model at work


def test_littles_law_is_about_means_and_the_gate_about_medians() -> None:
    mean_s = 0.5 * 0.0004 + 0.49 * 0.00225 + 0.01 * 0.012
    assert expected.reach_per_s(TIER, 8, read_share=1.0) == pytest.approx(8 / mean_s)
    assert expected.latency_s(TIER, "read") == 0.0005


def test_slow_epochs_are_limits_of_the_device() -> None:
    epochs = SlowEpochs(5.0, 20.0, 600.0)
    limits = limits_of(changed(TIER, latency_model=replace(MODEL, slow_epochs=epochs)))
    named = {
        key: value for key, value in limits.items() if "slow" in key or "dwell" in key
    }
    assert named == {"slow_factor": 5.0, "slow_dwell_s": 20.0, "good_dwell_s": 600.0}
    assert not {"slow_factor", "slow_dwell_s"} & set(limits_of(TIER))


def test_the_server_gets_both_tables_and_a_seed(tmp_path: Path) -> None:
    class Ready(FakePlatform):
        def logs(self, name: str, tail: int | None = None) -> str:
            limits = {"latency_seed": disk_server.seed_of("node-1", world)}
            ready = {
                "device": "/dev/loop0",
                "latency_table_points": points,
                "limits": limits,
            }
            return json.dumps(ready)

    platform = Ready(images=[own_images.tag(ROOT, "disk")])
    world = replace(fake_world(platform=platform), seed=5, cache=tmp_path)
    points = [len(READS), len(WRITES)]
    with serving(tmp_path, world):
        ((command, folders),) = [
            (one.command, one.folders) for one in platform.specs.values()
        ]
        assert {path: list(files) for path, files in folders.items()} == {
            "/latencies": ["read", "write"]
        }
        options = dict(zip(command[1::2], command[2::2], strict=True))
        assert options["--read-quantiles"] == "/latencies/read"
        assert options["--latency-seed"] == str(disk_server.seed_of("node-1", world))
    points = [0, 0]
    with (
        pytest.raises(GateError, match=r"tables of \[0, 0\] points"),
        serving(tmp_path, world),
    ):
        pass


def serving(folder: Path, world: World) -> Any:
    file = DiskFile(
        folder / "disks/node-1.img", "node-1", temporary=False, in_memory=False
    )
    return disk_server.devices("serve", [file], {}, world, latency=MODEL)


# ------------------------------------------------------------------ the gate's p99


def timed(
    read_p99_s: float, requests: int, write_p99_s: float = 0.006
) -> dict[str, Any]:
    return {
        way: {"lat_ns": {"N": requests, "percentile": {"99.000000": p99_s * 1e9}}}
        for way, p99_s in (("read", read_p99_s), ("write", write_p99_s))
    }


@pytest.mark.parametrize(
    ("p99_s", "requests", "verdict", "passed"),
    [
        (0.004, 10_000, "ok", True),
        (0.0047, 10_000, "ok", True),
        (0.0049, 10_000, "slow", False),
        (0.0031, 10_000, "faster than declared (cache or burst)", False),
        (0.0090, 9_999, "too few requests", True),
    ],
)
def test_p99_is_judged_within_20_pct_if_enough_were_timed(
    p99_s: float, requests: int, verdict: str, passed: bool
) -> None:
    read, write = expected.tail_checks(TIER, timed(p99_s, requests))
    assert (read.verdict, read.passed, read.declared) == (verdict, passed, 0.004)
    assert (read.quantity, write.quantity) == ("latency_p99_read", "latency_p99_write")


def test_p99_of_a_constant_latency_is_not_looked_at() -> None:
    constant = changed(TIER, latency_model=None)
    assert list(expected.tail_checks(constant, timed(1.0, 10**6))) == []
    assert expected.tail_window_s(constant, thorough=True) == 0.0
    assert expected.tail_window_s(TIER, thorough=False) == 0.0


READ_MEAN_S = 0.5 * 0.0004 + 0.49 * 0.00225 + 0.01 * 0.012
WRITE_MEAN_S = 0.5 * 0.00145 + 0.49 * 0.004 + 0.01 * 0.018


@pytest.mark.parametrize(
    ("iops", "pause_s"),
    [
        (None, 0.0),
        (1000, 0.002),  # half as many a second as the cap allows
        (100, 0.02),
    ],
)
def test_single_requests_are_timed_until_enough_of_both_ways_are_there(
    iops: int | None, pause_s: float
) -> None:
    """10,000 reads and 10,000 writes one after the other, with a fifth of the time to spare; at
    most five minutes."""
    mean_s = (READ_MEAN_S + WRITE_MEAN_S) / 2
    needed_s = 1.2 * 20_000 * (pause_s + mean_s)
    window_s = expected.tail_window_s(changed(TIER, iops=iops), thorough=True)
    assert window_s == pytest.approx(min(needed_s, 300.0))


@pytest.mark.parametrize(
    ("iops", "window_s"),
    [(None, 2.2), (1000, 6.6), (917, 7.0), (916, 0.0)],
)
def test_the_p99_of_a_real_disk_is_timed_where_it_takes_seven_seconds_at_most(
    iops: int | None, window_s: float
) -> None:
    """2,200 requests that take 1 ms each, and what the cap needs between them."""
    real = changed(TIER, like="mounted", iops=iops, latency_model=None)
    found_s = expected.tail_window_s(real, thorough=True)
    assert found_s == pytest.approx(window_s, abs=0.01)


# ------------------------------------------------------------------ recording


FIO = FakePlatform(answer=lambda _container, _argv: "fio-3.39\n")


@dataclass
class RecordedFio:
    """fio on a disk of fixed rates; `alone_per_s`: of single requests without a pause."""

    alone_per_s: float = 300.0
    bins: Mapping[str, int] = field(
        default_factory=lambda: {"400000": 900, "900000": 100}
    )
    container: Container = field(default_factory=lambda: FIO.container("fio"))
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    clock: FakeClock = field(default_factory=FakeClock)

    def run(self, job: str, settings: Mapping[str, str]) -> list[dict[str, Any]]:
        self.asked.append((job, settings))
        if job == "depth":
            self.clock.sleep(5.0)
        if job == "latency":
            lat_ns = {"lat_ns": {"N": sum(self.bins.values()), "bins": self.bins}}
            return [ways(self.alone_per_s * 4096 / 2, lat_ns)]
        count = {"iops": 3, "bytes": 2, "depth": 1}.get(job, 0)
        return [ways(500 * 4096.0) for _ in range(count)]


def ways(bw_bytes: float, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {way: {"bw_bytes": bw_bytes, **(more or {})} for way in DIRECTIONS}


def recorded(
    fio: RecordedFio,
    effort: RecordingEffort = recording.QUICK,
    clock: Clock | None = None,
) -> recorded_disk.RecordedDisk:
    facts = {"device": "sdb", "model": "Virtual Disk"}
    world = fake_world(clock=clock or fio.clock, platform=FIO)
    return recording.record(
        Path("/mnt/p15"),
        effort,
        world,
        allow_root_disk=False,
        fio_at=lambda *_: nullcontext((fio, facts)),
    )


def test_a_disk_is_recorded_with_where_and_how() -> None:
    disk = recorded(RecordedFio())
    assert disk.limits is not None and disk.limits.iops_mixed == 1000.0
    assert quantile_s(disk.latency.read_quantiles_s, 0.5) == pytest.approx(0.0004)
    assert disk.source == "`tierbench disk record` of Virtual Disk at /mnt/p15"
    began = datetime.strptime(disk.measured["began"][:8], "%Y%m%d")
    assert disk.as_of == began.date().isoformat()
    assert disk.measured["fio"] == "fio-3.39" and disk.measured["reads_timed"] == 1000
    assert disk.device["model"] == "Virtual Disk"
    text = json.dumps(disk.model_dump())
    assert recorded_disk.read("x", text) == disk


def test_rates_are_recorded_to_a_tenth() -> None:
    class Odd(RecordedFio):
        def run(self, job: str, settings: Mapping[str, str]) -> list[dict[str, Any]]:
            found = super().run(job, settings)
            if job == "iops":
                found[0] = {way: {"bw_bytes": 500.13 * 4096} for way in DIRECTIONS}
                found[1] = {way: {"bw_bytes": 250.13 * 4096} for way in DIRECTIONS}
                found[2] = {way: {"bw_bytes": 125.13 * 4096} for way in DIRECTIONS}
            return found

    limits = recorded(Odd()).limits
    assert limits is not None
    found = (limits.iops_read, limits.iops_write, limits.iops_mixed)
    assert found == (1000.3, 500.3, 250.3)


def test_how_long_it_took_is_right_if_the_clock_is_set_meanwhile() -> None:
    clock = SetClock(1_000.0)

    class Setting(RecordedFio):
        def run(self, job: str, settings: Mapping[str, str]) -> list[dict[str, Any]]:
            clock.ahead_s = -3600.0
            return super().run(job, settings)

    assert recorded(Setting(), clock=clock).measured["took_s"] == 0.0


@pytest.mark.parametrize(
    ("alone_per_s", "pause_us"), [(300, "0"), (500, "0"), (501, "2000"), (1000, "2000")]
)
def test_single_requests_never_wait_for_a_cap(
    alone_per_s: float, pause_us: str
) -> None:
    """At most half of the cap's rate; where the latency alone is slow enough, without pauses."""
    fio = RecordedFio(alone_per_s)
    recorded(fio)
    pauses = [settings["PAUSE_US"] for job, settings in fio.asked if job == "latency"]
    assert pauses == ["0", pause_us]


@pytest.mark.parametrize(("hold_s", "steps"), [(20.0, 4), (20.1, 5)])
def test_a_lasting_load_is_looked_at_every_five_seconds(
    hold_s: float, steps: int
) -> None:
    fio = RecordedFio()
    recorded(fio, replace(recording.QUICK, hold_s=hold_s))
    jobs = [job for job, _ in fio.asked]
    assert jobs.count("depth") == steps


def test_a_disk_on_which_nothing_was_timed_is_an_error() -> None:
    with pytest.raises(GateError, match="no request was timed"):
        recorded(RecordedFio(bins={}))


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ([3500, 3500, 3490, 3500, 1100, 1100], (3500, 1100, 20.0)),
        ([3500, 1200, 3500, 3500, 3500, 3500], None),
        ([1100] * 6, None),
        ([1100] * 3, None),
        # Three steps make the peak, so the fall is in a fourth one at least.
        ([3500, 3500, 1100], None),
        ([3500, 3500, 3500, 1100], (3500, 1100, 15.0)),
        # Nine tenths of the peak are not low yet.
        ([3500, 3500, 3500, 3150, 1100], (3500, 1100, 20.0)),
        ([3500, 3500, 3500, 3149, 1100], (3500, 2124.5, 15.0)),
        ([3500, 3500, 3500, 1100, 3500, 1100], (3500, 1100, 25.0)),
    ],
)
def test_a_burst_is_a_rate_that_falls_and_stays_low(
    rates: list[float], found: tuple[float, float, float] | None
) -> None:
    burst = burst_in([StepRate(5.0 * n, rate) for n, rate in enumerate(rates)])
    assert (burst and (burst.iops, burst.base_iops, burst.duration_s)) == found

"""The truth gate on an honest disk of every row: the law of docker/disk/tierdisk/ in place of fio.

A disk is honest where a request starts when the caps let it and is answered a latency later. Each
row must pass, with every check explained; and the same disk a little slower must not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator import tier_catalog
from orchestrator.errors import GateError
from orchestrator.model import Volume
from orchestrator.parts import Disks
from orchestrator.planning import project_files
from orchestrator.powers import Completed
from orchestrator.tier import (
    BOTH_DISKS,
    Burst,
    Gate,
    GateCheck,
    Limits,
    MachineLimits,
    Tier,
)
from orchestrator.tiers.common.gate import (
    drain,
    expected,
    fio_jobs,
    shared_limit,
    truth_gate,
)
from orchestrator.units import parse_bytes
from tests import ROOT
from tests.fakes import FakeClock, Log, completed, fake_world
from tests.tiers import a_tier, changed

FASTER = "faster than declared (cache or burst)"


@dataclass(frozen=True)
class HonestDisk:
    """fio on a disk of `tier`: only the figures that its limits make."""

    tier: Tier
    verifies: bool = True

    def run(self, job: str, settings: Mapping[str, str]) -> list[dict[str, Any]]:
        if job == "together":
            return [*self.run("depth", settings), *self.run("depth", settings)]
        depth = int(settings.get("IODEPTH", "16"))
        if job == "iops":
            ways = {"read": 1.0, "write": 0.0, "mixed": 0.5}
            return [
                self._at(f"iops-{way}", 4096, depth, share)
                for way, share in ways.items()
            ]
        if job == "bytes":
            ways = {"read": 1.0, "write": 0.0}
            return [
                self._at(f"bytes-{way}", 262_144, depth, share)
                for way, share in ways.items()
            ]
        if job == "depth":
            return [
                self._at(
                    "depth", parse_bytes(f"{settings['BS'].upper()}iB"), depth, 1.0
                )
            ]
        if job == "latency":
            return [self._alone(int(settings.get("PAUSE_US", "0")) * 1e-6)]
        return [{"jobname": job, "sync": {"lat_ns": {"mean": 1e6}}}]

    def verified(self, settings: Mapping[str, str]) -> bool:
        return self.verifies

    def _cap(self, block_bytes: int) -> float:
        per_io = -(-block_bytes // self.tier.limits.io_unit_bytes)
        iops, rate = (
            self.tier.limits.iops or float("inf"),
            self.tier.limits.bytes_per_s or float("inf"),
        )
        return min(iops / per_io, rate / block_bytes)

    def _at(
        self, name: str, block_bytes: int, depth: int, share: float
    ) -> dict[str, Any]:
        read_s, write_s = (
            self.tier.latency.read_s or 1e-5,
            self.tier.latency.write_s or 1e-5,
        )
        mean_s = share * read_s + (1 - share) * write_s
        rate = min(self._cap(block_bytes), depth / mean_s)
        ways = {"read": {"bw_bytes": rate * block_bytes}, "write": {"bw_bytes": 0.0}}
        return {"jobname": name, **ways}

    def _alone(self, pause_s: float) -> dict[str, Any]:
        """One after the other: what is asked for too soon waits for the cap."""
        between_s = 1 / self._cap(4096)
        times = {}
        for way, latency_s in (
            ("read", self.tier.latency.read_s or 1e-5),
            ("write", self.tier.latency.write_s or 1e-5),
        ):
            took_s = max(latency_s, between_s - pause_s)
            times[way] = {"lat_ns": {"percentile": {"50.000000": took_s * 1e9}}}
        return {"jobname": "latency", **times}


Take = Callable[..., Gate]


@pytest.fixture
def take(tmp_path: Path) -> Take:
    """Takes the gate that a declared tier gets on an honest disk of another."""

    def taken(declared: Tier, disk: Tier, **more: Any) -> Gate:
        fio: Any = nullcontext(HonestDisk(disk))
        disks, world = Disks((Volume("v", "", False),), {}), fake_world(Log(), tmp_path)
        how = {"thorough": False, "drained": False, **more}
        return truth_gate.take(declared, disks, world, start=lambda *_: fio, **how)

    return taken


def of(gate: Gate, start: str) -> GateCheck:
    (check,) = [check for check in gate.checks if check.limit.startswith(start)]
    return check


CATALOG = project_files.catalog(ROOT)


def rows() -> list[Tier]:
    """Every fixed size of the catalogue that can be emulated, and each other type at some sizes."""
    tiers = []
    for full, kind in CATALOG.types.items():
        if not kind.emulate:
            continue
        named: list[Any] = [f"{full.split('/')[0]}/{size}" for size in kind.sizes or {}]
        if not kind.sizes:
            named = [
                {"type": full, "size": size} for size in ("10GiB", "200GiB", "4TiB")
            ]
        for row in named:
            try:
                tier = tier_catalog.choose(CATALOG, row, str(row)).tier
            except Exception:  # a size that this type does not come in
                continue
            if tier.limits.iops and tier.limits.iops < 20_000:
                tiers.append(tier)
    return tiers


ROWS = rows()
ODD = [
    a_tier("few bytes", "", "emulated", 20_000, 6_000_000, 0.002, 0.002),
    a_tier("far away", "", "emulated", 20_000, 900_000_000, 0.025, 0.025),
    a_tier("slow and far", "", "emulated", 10, 1_000_000, 0.05, 0.05),
    a_tier("unlike ways", "", "emulated", 1100, 125_000_000, 0.03, 0.0005),
    a_tier("no latency", "", "emulated", 500, 60_000_000),
]


LATENCY, IOPS = "median latency at queue depth 1, read", "IOPS, 4 KiB random read"
EXPLAINED = ("ok", "not declared", "not reachable", "assumed, not judged")
each_row = pytest.mark.parametrize(
    "tier", [*ROWS, *ODD], ids=lambda tier: str(tier.name)
)


def test_the_rows_are_those_of_the_catalogue() -> None:
    names = {tier.name for tier in ROWS}
    assert {"azure/P4", "azure/P6", "azure/S4"} <= names
    assert len(ROWS) > 40, names


def test_the_time_of_a_sync_is_told_in_seconds(take: Take) -> None:
    tier = ODD[0]
    (sync,) = [
        check for check in take(tier, tier).checks if check.quantity == "fdatasync"
    ]
    # The disk answers a sync in 1,000,000 ns.
    assert sync.measured == pytest.approx(0.001)


@each_row
@pytest.mark.parametrize("thorough", [False, True], ids=["quick", "thorough"])
def test_an_honest_disk_of_the_row_passes(
    tier: Tier, thorough: bool, take: Take
) -> None:
    gate = take(tier, changed(tier, burst=None), thorough=thorough)
    assert gate.passed
    assert [check for check in gate.checks if check.verdict not in EXPLAINED] == []


@each_row
def test_a_disk_with_fewer_iops_or_bytes_than_the_row_does_not(
    tier: Tier, take: Take
) -> None:
    assert tier.limits.iops and tier.limits.bytes_per_s
    iops, bytes_per_s = int(0.8 * tier.limits.iops), int(0.8 * tier.limits.bytes_per_s)
    gate = take(tier, changed(tier, iops=iops, bytes_per_s=bytes_per_s, burst=None))
    if tier.name != "far away":  # its IOPS are out of reach, and said to be
        assert of(gate, IOPS).verdict == "slow"
    assert of(gate, "bandwidth, 256 KiB sequential read").verdict == "slow"


def test_a_cap_below_the_latency_is_no_latency(take: Take) -> None:
    """120 IOPS are 8.3 ms a request at depth 1; the row's 2.4 ms are measured below that rate."""
    tier = changed(tier_catalog.choose(CATALOG, "azure/P4", "p4").tier, burst=None)
    assert of(take(tier, tier), LATENCY).measured == pytest.approx(0.0024)
    assert (
        of(take(tier, changed(tier, read_latency_s=0.004)), LATENCY).verdict == "slow"
    )


def test_a_limit_that_no_depth_reaches_is_said_to_be_out_of_reach(take: Take) -> None:
    tier = ODD[1]
    check = of(take(tier, tier), IOPS)
    assert (check.verdict, check.declared, check.measured) == (
        "not reachable",
        20_000,
        5_120,
    )
    assert check.limit.endswith("(128 in flight at 25 ms)")
    check = of(take(tier, changed(tier, iops=3_000)), IOPS)
    assert (check.verdict, check.declared) == ("slow", 5_120)


def test_a_small_block_is_held_against_the_bytes(take: Take) -> None:
    check = of(take(ODD[0], ODD[0]), IOPS)
    assert check.verdict == "ok" and check.declared == pytest.approx(6e6 / 4096)
    assert check.limit.endswith("(6 MB/s bind)")


# ------------------------------------------------------------------ real disks


def mounted(**more: Any) -> Tier:
    row = {"type": "azure/P15", "enforcement": "mounted", "path": "/mnt/disk", **more}
    return tier_catalog.choose(CATALOG, row, "real").tier


def test_a_real_disk_is_not_held_to_a_latency_that_nobody_promises(take: Take) -> None:
    tier = mounted(burst="off")
    assert tier.latency.assumed == ("read", "write")
    gate = take(tier, changed(tier, read_latency_s=0.0009, write_latency_s=0.0041))
    assert gate.passed, gate
    for way, measured in (("read", 0.0009), ("write", 0.0041)):
        check = of(gate, f"median latency at queue depth 1, {way}")
        assert (
            check.verdict == "assumed, not judged"
            and check.measured == pytest.approx(measured)
        )


def test_a_latency_of_the_profiles_own_is_judged(take: Take) -> None:
    tier = mounted(burst="off", read_latency="2ms")
    assert tier.latency.assumed == ("write",)
    assert (
        of(take(tier, changed(tier, read_latency_s=0.0009)), LATENCY).verdict == FASTER
    )


def test_the_emulated_disk_is_held_to_what_we_assume(take: Take) -> None:
    tier = tier_catalog.choose(
        CATALOG, {"type": "azure/P15", "burst": "off"}, "p15"
    ).tier
    late = changed(tier, read_latency_s=(tier.latency.read_s or 0) * 1.5)
    assert of(take(tier, late), LATENCY).verdict == "slow"


def test_a_real_disk_on_credit_is_bursting(take: Take) -> None:
    tier = mounted()
    assert isinstance(tier.limits.burst, Burst)
    fresh = changed(tier, iops=3_500, bytes_per_s=170_000_000)
    gate = take(tier, fresh)
    assert gate.passed
    assert of(gate, IOPS).verdict == "bursting"
    cached = changed(tier, iops=30_000, bytes_per_s=900_000_000)
    assert of(take(tier, cached), IOPS).verdict == FASTER
    check = of(take(changed(tier, enforcement="emulated"), fresh), IOPS)
    assert check.verdict == FASTER, "ours has no credit while its gate is taken"


# ------------------------------------------------------------------ burst credit used up


class BurstDisk(HonestDisk):
    """Does its peak until it has served so many seconds of load, then its base."""

    def __init__(self, tier: Tier, lasts_s: float, clock: FakeClock) -> None:
        super().__init__(expected.at_peak(tier))
        self.__dict__.update(
            clock=clock, base=HonestDisk(tier), lasts_s=lasts_s, loads=[]
        )

    def run(self, job: str, settings: Mapping[str, str]) -> list[dict[str, Any]]:
        own: dict[str, Any] = self.__dict__
        at_base = own["clock"].now() - 1_000.0 >= own["lasts_s"]
        if job == "depth":
            own["clock"].sleep(float(settings["RUNTIME"].removesuffix("ms")) / 1e3)
            own["loads"].append(settings["BS"])
        return own["base"].run(job, settings) if at_base else super().run(job, settings)


def drained(tier: Tier, lasts_s: float) -> tuple[Gate, list[str]]:
    world = fake_world(Log(), ROOT)
    disk = BurstDisk(tier, lasts_s, world.clock)  # type: ignore[arg-type]
    fio: Any = nullcontext(disk)
    disks = Disks((Volume("v", "", restored=False),), {})
    gate = truth_gate.take(
        tier, disks, world, drained=True, start=lambda *_: fio, thorough=False
    )
    return gate, disk.__dict__["loads"]


def test_a_drained_disk_is_held_to_its_base() -> None:
    tier = mounted()
    gate, loads = drained(tier, 1_700.0)
    assert gate.passed, gate
    assert of(gate, IOPS).verdict == "ok"
    assert of(gate, IOPS).measured == pytest.approx(tier.limits.iops)
    first, *rest = gate.device["drained"]
    # 170 MB/s at 3,500 a second: blocks of 48,571 bytes keep both at their peaks.
    assert first["block_bytes"] == 45_056 and first["took_s"] == pytest.approx(1_740)
    assert [one["block_bytes"] for one in rest] == [4_096, 262_144]
    assert {one["fell"] for one in gate.device["drained"]} == {True}
    assert loads[-2:] == ["4k", "256k"]


def loads(peak_iops: int, per_s: float, load_s: float = 5.0) -> list[dict[str, Any]]:
    """Those that use up 20 s of credit above 2,000 IOPS, on a disk that does so many a second."""
    burst = Burst(peak_iops, None, 20.0)
    tier = a_tier("x", "X", "mounted", 2_000, 60_000_000, burst=burst)
    world = fake_world()
    credit = drain.Credit(tier, world)

    def measure(_block_bytes: int, _seconds: float) -> float:
        world.clock.sleep(load_s)
        return per_s

    credit.use_up([4_096], measure)
    return credit.drained


@pytest.mark.parametrize(("peak_iops", "count"), [(2_100, 0), (2_101, 1)])
def test_a_peak_that_a_gate_allows_of_the_base_is_not_used_up(
    peak_iops: int, count: int
) -> None:
    """A gate allows 5 % more."""
    assert len(loads(peak_iops, per_s=2_000.0)) == count


@pytest.mark.parametrize(("per_s", "fell"), [(2_100.0, True), (2_101.0, False)])
def test_a_disk_has_fallen_when_a_gate_allows_its_rate(
    per_s: float, fell: bool
) -> None:
    (load,) = loads(3_500, per_s)
    assert load["fell"] is fell


@pytest.mark.parametrize(("load_s", "took_s"), [(40.0, 80.0), (40.1, 40.1)])
def test_a_disk_is_loaded_for_half_as_long_again_and_10_s(
    load_s: float, took_s: float
) -> None:
    (load,) = loads(3_500, 3_500.0, load_s)
    assert load["took_s"] == took_s


def test_what_a_disk_earns_between_two_jobs_is_used_up_in_the_ramp() -> None:
    """1.5 s at 500 a second last 1.5 s above them; with large blocks its peak is its base."""
    tier = a_tier("x", "X", "mounted", 500, 60_000_000, burst=Burst(1_000, None, 60.0))
    assert drain.Credit(tier, fake_world()).ramp_s == 1.5


def test_a_disk_that_never_falls_fails() -> None:
    """Its burst or its base is not what was declared; it is loaded once only."""
    gate, loads = drained(mounted(), float("inf"))
    assert not gate.passed and set(loads) == {"44k"}
    assert of(gate, "rate after ").verdict == FASTER
    assert of(gate, IOPS).verdict == FASTER, "its burst does not excuse it now"


# ------------------------------------------------------------------ percentiles of a real disk


class TimedDisk(HonestDisk):
    """Answers each request of the latency job after its pause, the slowest hundredth later."""

    def run(self, job: str, settings: Mapping[str, str]) -> list[dict[str, Any]]:
        jobs = super().run(job, settings)
        if job != "latency":
            return jobs
        seconds = float(settings["RUNTIME"].removesuffix("ms")) / 1e3
        each_s = int(settings["PAUSE_US"]) * 1e-6 + 1e-3
        for way in ("read", "write"):
            jobs[0][way]["total_ios"] = round(seconds / each_s / 2)
            jobs[0][way]["lat_ns"]["percentile"]["99.000000"] = 7e6
        return jobs


@pytest.mark.parametrize(("iops", "carried"), [(1_100, True), (120, False)])
def test_the_99th_percentile_of_a_real_disk_is_shown_where_it_carries(
    iops: int, carried: bool
) -> None:
    tier = changed(mounted(burst="off"), iops=iops)
    fio: Any = nullcontext(TimedDisk(tier))
    disks = Disks((Volume("v", "", restored=False),), {})
    gate = truth_gate.take(
        tier,
        disks,
        fake_world(Log(), ROOT),
        start=lambda *_: fio,
        thorough=False,
        drained=False,
    )
    found = {check.quantity: check for check in gate.checks}
    assert ("latency_p99_read" in found) is ("latency_p99_write" in found) is carried
    if carried:
        check = found["latency_p99_read"]
        assert (
            check.measured == pytest.approx(0.007) and check.verdict == "not declared"
        )


@pytest.mark.parametrize(("requests", "p99_s"), [(999, None), (1_000, 0.007)])
def test_a_99th_percentile_is_told_from_1000_requests_on(
    requests: int, p99_s: float | None
) -> None:
    """Then ten took longer."""
    percentiles = {"lat_ns": {"percentile": {"99.000000": 7e6}}}
    job = {"read": {"total_ios": requests, **percentiles}}
    assert fio_jobs.p99_s(job, "read") == p99_s


@pytest.mark.parametrize(
    ("shared", "together", "verdicts"),
    [
        (Limits(1_500, 40_000_000), 1_500, ["ok", "ok"]),
        (Limits(1_500), 1_500, ["ok", "not reachable"]),
        (Limits(1_500, 40_000_000), 2_000, [FASTER, "ok"]),  # each by itself
        (Limits(1_500, 40_000_000), 1_200, ["slow", "ok"]),
        (Limits(5_000, 40_000_000), 2_000, ["not reachable", "ok"]),
        # Two disks of 1,000 reach just what is shared.
        (Limits(2_000, 40_000_000), 2_000, ["ok", "ok"]),
    ],
)
def test_limits_of_all_disks_are_held_against_two_at_once(
    shared: Limits, together: int, verdicts: list[str]
) -> None:
    declared = replace(
        a_tier("a", "A", "emulated", 1_000, 100_000_000, 0.001, 0.001), shared=shared
    )
    rate = shared.bytes_per_s or 100_000_000
    half: Any = nullcontext(
        HonestDisk(changed(declared, iops=together // 2, bytes_per_s=rate // 2))
    )
    disks = Disks((Volume("v", "", False),) * 2, {})
    world = fake_world(Log(), ROOT)
    checks = list(shared_limit.of_all_disks(declared, disks, world, lambda *_: half))
    assert [check.verdict for check in checks] == verdicts
    assert [check.quantity for check in checks] == ["shared_iops", "shared_bandwidth"]


@pytest.mark.parametrize(
    ("machine", "together", "verdicts"),
    [
        (Limits(2_500, 150_000_000), 2_500, ["ok", "ok"]),
        (Limits(2_500), 2_500, ["ok", "not reachable"]),
        (Limits(2_500, 150_000_000), 3_000, [FASTER, "ok"]),  # each by itself
        (Limits(3_500, 150_000_000), 3_000, ["not reachable", "ok"]),
    ],
)
def test_a_machine_s_limit_is_held_against_the_disks_of_data_and_log(
    machine: Limits, together: int, verdicts: list[str]
) -> None:
    """A data's disk of 1,000 IOPS beside a log's of 2,000, each with 100 MB/s."""
    data = a_tier("a", "A", "emulated", 1_000, 100_000_000, 0.001, 0.001)
    log = changed(data, iops=2_000)
    tier = replace(data, wal=log, machine=MachineLimits("azure/D4", machine))
    rate = machine.bytes_per_s or 200_000_000
    half: Any = nullcontext(
        HonestDisk(changed(data, iops=together // 2, bytes_per_s=rate // 2))
    )
    volume = Volume("v", "", False)
    checked = [shared_limit.Checked(data, volume), shared_limit.Checked(log, volume)]
    world = fake_world(Log(), ROOT)
    checks = list(shared_limit.of_machine(tier, checked, world, lambda *_: half))
    assert [check.verdict for check in checks] == verdicts
    assert {check.disk for check in checks} == {BOTH_DISKS}


@dataclass(frozen=True)
class Noting(HonestDisk):
    """Notes the jobs in their order."""

    jobs: list[str] = field(default_factory=list)

    def run(self, job: str, settings: Mapping[str, str]) -> list[dict[str, Any]]:
        self.jobs.append(job)
        return super().run(job, settings)

    def verified(self, settings: Mapping[str, str]) -> bool:
        self.jobs.append("verify")
        return super().verified(settings)


def test_a_disk_is_written_before_it_is_read_and_verified_at_the_end() -> None:
    """What was never written reads as zeros without touching the disk."""
    tier = a_tier("x", "X", "emulated", 500, 60_000_000, 0.002, 0.002)
    disk = Noting(tier)
    fio: Any = nullcontext(disk)
    disks = Disks((Volume("v", "", restored=False),), {})
    truth_gate.take(
        tier,
        disks,
        fake_world(Log(), ROOT),
        start=lambda *_: fio,
        thorough=False,
        drained=False,
    )
    assert disk.jobs == ["prepare", "iops", "bytes", "latency", "fsync", "verify"]


@dataclass(frozen=True)
class NotingTimes(HonestDisk):
    """Notes how long each job runs, in ms, and how deep."""

    runtimes: dict[str, str] = field(default_factory=dict)
    depths: dict[str, str] = field(default_factory=dict)

    def run(self, job: str, settings: Mapping[str, str]) -> list[dict[str, Any]]:
        self.runtimes[job] = settings.get("RUNTIME", "")
        self.depths[job] = settings.get("IODEPTH", "")
        return super().run(job, settings)


def test_a_slow_disk_is_timed_for_as_many_requests_as_tell_its_rates() -> None:
    """Of 2 I/Os a second 60 take 30 s; with pauses of 1 s 24 take 24 s. Large I/Os are 16 deep."""
    tier = a_tier("x", "X", "emulated", 2, 60_000_000, 0.002, 0.002)
    disk = NotingTimes(tier)
    fio: Any = nullcontext(disk)
    disks = Disks((Volume("v", "", restored=False),), {})
    truth_gate.take(
        tier,
        disks,
        fake_world(Log(), ROOT),
        start=lambda *_: fio,
        thorough=False,
        drained=False,
    )
    times = {job: disk.runtimes[job] for job in ("iops", "bytes", "latency")}
    assert times == {"iops": "30000ms", "bytes": "30000ms", "latency": "24000ms"}
    assert disk.depths["bytes"] == "16"


@pytest.mark.parametrize(
    ("verifies", "measured", "verdict"), [(True, 0.0, "ok"), (False, 1.0, "failed")]
)
def test_no_block_may_read_back_as_another(
    verifies: bool, measured: float, verdict: str
) -> None:
    tier = a_tier("x", "X", "emulated", 500, 60_000_000, 0.002, 0.002)
    fio: Any = nullcontext(HonestDisk(tier, verifies))
    disks = Disks((Volume("v", "", restored=False),), {})
    gate = truth_gate.take(
        tier,
        disks,
        fake_world(Log(), ROOT),
        start=lambda *_: fio,
        thorough=False,
        drained=False,
    )
    check = of(gate, "integrity")
    found = (check.declared, check.measured, check.tolerance_pct, check.verdict)
    assert found == (0.0, measured, 0.0, verdict)


# ------------------------------------------------------------------ what is said of it


@pytest.mark.parametrize(
    ("burst", "words"),
    [
        (Burst(3500, 170_000_000, 1800.0), "(3,500/s and 170 MB/s), this takes 30 min"),
        (Burst(3500, None, 90.0), "(3,500/s), this takes 90 s at most"),
        (Burst(None, 170_000_000, 20.0), "(170 MB/s), this takes 20 s at most"),
    ],
)
def test_how_long_a_drain_takes_is_said_with_the_peaks(
    burst: Burst, words: str
) -> None:
    tier = a_tier("x", "A disk", "mounted", 500, 60_000_000, burst=burst)
    text = drain.announcement(tier)
    assert text.startswith("the burst credit of A disk is used up first.")
    assert words in text


class Ran:
    """A container in which fio ended so."""

    def __init__(self, exit_code: int) -> None:
        self.exit_code = exit_code
        self.asked: list[tuple[tuple[str, ...], Mapping[str, str]]] = []

    def exec(
        self, argv: tuple[str, ...], env: Mapping[str, str] | None = None, **_: Any
    ) -> Completed:
        self.asked.append((argv, env or {}))
        if argv[0] == "cat":
            return completed('{"jobs": [{"jobname": "a"}]}')
        return completed("its output", self.exit_code, "its error")


def test_fio_that_ends_with_an_error_has_no_figures_and_verified_nothing() -> None:
    good: Any = Ran(0)
    fio = fio_jobs.FioContainer(good)
    assert fio.run("iops", {"RW": "randread"}) == [{"jobname": "a"}]
    argv, settings = good.asked[0]
    assert argv[0] == "fio" and argv[-1] == "/fio/iops.fio"
    assert settings == {"DIR": "/tier", "RW": "randread"}
    assert fio.verified({})
    bad: Any = Ran(1)
    assert not fio_jobs.FioContainer(bad).verified({})
    with pytest.raises(GateError, match="fio could not run iops: its error") as raised:
        fio_jobs.FioContainer(bad).run("iops", {})
    assert raised.value.evidence == "its output"

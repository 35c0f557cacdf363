"""Simulations whose answer is known by hand, demands out of counters, and predictions of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.metric_values import whole
from orchestrator.analysis.results import Results, RunData, finished
from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.counters.sample_tables import Samples
from orchestrator.analysis.telemetry.use.node_values import of_figures
from orchestrator.design import latency_quantiles
from orchestrator.errors import UsageError
from orchestrator.extensions.predict import demands
from orchestrator.extensions.predict.demands import model, time_at_cap
from orchestrator.extensions.predict.disks import (
    RateBucket,
    SimulatedDisk,
    disk_of,
    log_normal,
)
from orchestrator.extensions.predict.prediction import Predictor, quiet_run
from orchestrator.extensions.predict.sharing import Simulations, simulate
from orchestrator.extensions.predict.simulated_system import Stage, System
from orchestrator.facts import Varied
from orchestrator.metrics import measured
from orchestrator.model import Node, Objective, Record
from orchestrator.tier import Burst, Gate, GateCheck, Limits, MachineLimits
from orchestrator.tier.slow_disk import SlowDisk
from tests.campaign_tables import Shape
from tests.campaigns import SHAPES, build_campaign, build_run, build_tier, with_tier
from tests.predicted_campaigns import run_of, syncing, syncing_campaign
from tests.tiers import changed


def disk(
    iops: int | None = None,
    latency_s: float = 0.002,
    log: SimulatedDisk | None = None,
    together: Limits | None = None,
    **limits: Any,
) -> SimulatedDisk:
    table = log_normal(latency_s, latency_s)
    return SimulatedDisk(Limits(iops, **limits), table, table, log, together)


def system(reads: float = 0.0, writes: float = 0.0, **changes: Any) -> System:
    """Sixteen sessions on two cores, which do not commit."""
    plain = System(
        16, node_s=0.001, client_s=1e-4, node_cpus=2.0, client_cpus=4.0, commits=False
    )
    return replace(plain, stages=(Stage(math.inf, reads, writes),), **changes)


COMMITS = {"commits": True, "node_s": 1e-5, "client_s": 1e-5}


@pytest.mark.parametrize(
    ("asked", "of", "per_s", "limit"),
    [
        (system(), disk(), 2000, "cpu_bound"),
        (system(node_cpus=0.5), disk(), 500, "cpu_bound"),
        (system(node_s=1e-4, client_s=0.004), disk(), 1000, "client_bound"),
        (system(nodes=3), disk(), 6000, "cpu_bound"),
        # Node, client and the disk's own program share a core.
        (system(other_s=9e-4, machine_cpus=1.0), disk(), 500, "machine_bound"),
        (system(10.0), disk(1100), 110, "iops_cap"),
        (system(5.0, 5.0), disk(1100), 110, "iops_cap"),
        (system(5.0, 5.0, batch=50.0), disk(1100), 110, "iops_cap"),
        (system(10.0, sessions=96, disks=3, nodes=3), disk(1100), 330, "iops_cap"),
        (system(2.0, read_bytes=1e6), disk(bytes_per_s=10**8), 50, "bandwidth_cap"),
        # 10 reads of 2 ms, 1.1 ms of CPU, one after the other
        (system(10.0, sessions=1), disk(), 1 / 0.0211, "latency_bound"),
        # Each read is behind two I/Os of others, for which the disk takes 2 ms.
        (
            system(10.0, read_ahead=2.0, sessions=1),
            disk(1000),
            1 / 0.0411,
            "latency_bound",
        ),
        (system(delay_s=0.1, node_s=0.0), disk(), 16 / 0.1001, "latency_bound"),
        # It waits for others half as long as it takes without.
        (
            system(delay_s=0.1, node_s=0.0, waiting=0.5),
            disk(),
            16 / 0.15015,
            "latency_bound",
        ),
        # The writer takes a page each 0.2 s: a session writes its three itself, one after another,
        (
            system(0.0, 3.0, round_pages=1.0, sessions=1),
            disk(),
            1 / 0.0071,
            "latency_bound",
        ),
        # and each behind two of others; with time for all in its rounds the writer takes them.
        (
            system(0.0, 3.0, round_pages=1.0, ahead=2.0, sessions=1),
            disk(1000),
            1 / 0.0131,
            "latency_bound",
        ),
        (
            system(0.0, 0.1, round_pages=100.0, sessions=1),
            disk(),
            1 / 0.0011,
            "latency_bound",
        ),
        # All sixteen share a sync of 2 ms, and miss the one that goes on: 16 in two of them.
        (system(**COMMITS), disk(), 4000, "latency_bound"),
        (system(**COMMITS, sync_s=0.002), disk(), 2000, "latency_bound"),
        (system(1.0, rate_per_s=100.0), disk(), 100, "load_bound"),
    ],
)
def test_what_can_be_counted_by_hand(
    asked: System, of: SimulatedDisk, per_s: float, limit: str
) -> None:
    simulated = simulate(asked, of)
    assert simulated.throughput_per_s == pytest.approx(per_s, rel=0.06)
    assert simulated.limit == limit


def test_a_quota_on_a_shared_machine_is_used_at_any_time_in_its_period() -> None:
    """Of a node with half a core of its own each 2 ms of CPU take 4: what comes then waits."""
    alone = system(rate_per_s=100.0, node_s=0.002, node_cpus=0.5, sessions=64)
    alone_s = simulate(alone, disk()).latencies_s.mean()
    shared_s = simulate(replace(alone, machine_cpus=8.0), disk()).latencies_s.mean()
    assert shared_s == pytest.approx(0.0021, rel=0.1)
    assert alone_s > 1.3 * shared_s


@pytest.mark.parametrize(
    ("clients", "limits", "cpus"),
    [
        (("client",), {"client": 4.0}, 4.0),
        (("client-1", "client-2"), {"client-2": 4.0}, 5.0),
        ((), {}, 1.0),
    ],
)
def test_load_generators_have_their_cores_and_one_each_where_that_is_not_known(
    clients: Sequence[str], limits: dict[str, float], cpus: float
) -> None:
    nodes = [Node("node-1", "database"), *(Node(name, "client") for name in clients)]
    record: Any = SimpleNamespace(nodes=nodes)
    asked: Any = SimpleNamespace(record=record, cpu_limits={**limits, "node-1": 8.0})
    assert demands._client_cpus(asked) == cpus


LOG_MB = 10**6


@pytest.mark.parametrize(
    ("asked", "of", "per_s", "limit"),
    [
        # A session waits 2 ms for its sync on the one disk, 0.5 ms on a faster one.
        (system(**COMMITS, sessions=1), disk(), 500, "latency_bound"),
        (
            system(**COMMITS, sessions=1),
            disk(log=disk(latency_s=0.0005)),
            2000,
            "latency_bound",
        ),
        # Eleven I/Os a transaction on one disk, ten where the sync is elsewhere.
        (system(10.0, commits=True, sessions=1), disk(110), 10, "iops_cap"),
        (
            system(10.0, commits=True, sessions=1),
            disk(110, log=disk(1000)),
            11,
            "iops_cap",
        ),
        # The log's own caps, of bytes and of I/Os: a session at a time syncs by itself.
        (
            system(**COMMITS, log_bytes=LOG_MB),
            disk(log=disk(bytes_per_s=10**8)),
            100,
            "wal_disk_bound",
        ),
        (
            system(**COMMITS, sessions=1),
            disk(log=disk(100)),
            100,
            "wal_disk_bound",
        ),
        # Both disks behind a machine that lets 110 I/Os through, eleven for a transaction.
        (
            system(10.0, commits=True, sessions=1),
            disk(1000, log=disk(1000), together=Limits(110)),
            10,
            "vm_cap",
        ),
        # Through one that lets two transactions a second through, far fewer than the disks.
        (
            system(5.0, 1.0, **COMMITS, log_bytes=2e3),
            disk(5_000, log=disk(5_000), together=Limits(5_000, 10**5)),
            10**5 / (6 * 8192 + 2e3),
            "vm_cap",
        ),
        # Three nodes with three disks each.
        (
            system(**COMMITS, log_bytes=LOG_MB, sessions=96, nodes=3, disks=3),
            disk(log=disk(bytes_per_s=10**8)),
            300,
            "wal_disk_bound",
        ),
    ],
)
def test_what_a_log_on_a_disk_of_its_own_does(
    asked: System, of: SimulatedDisk, per_s: float, limit: str
) -> None:
    simulated = simulate(asked, of)
    assert simulated.throughput_per_s == pytest.approx(per_s, rel=0.06)
    assert simulated.limit == limit


def test_a_course_is_shared_only_between_disks_whose_logs_are_alike() -> None:
    """The first log never waits, so that a second with a higher cap needs no simulation."""
    simulations = Simulations(2_000)
    asked = system(1.0, **COMMITS, sessions=1)
    slow = simulations.simulate(asked, disk(log=disk(100)))
    free = simulations.simulate(asked, disk(log=disk(5_000)))
    assert simulations.simulate(asked, disk(log=disk(6_000))).throughput_per_s == (
        free.throughput_per_s
    )
    assert [len(courses) for courses in simulations.courses.values()] == [2]
    slower = simulations.simulate(asked, disk(log=disk(5_000, latency_s=0.004)))
    assert slower.throughput_per_s < free.throughput_per_s
    assert slow.throughput_per_s < free.throughput_per_s


@pytest.mark.parametrize(
    ("machine", "binds"),
    [(Limits(1_500), True), (Limits(1_600), False), (Limits(), False), (None, False)],
)
def test_a_machine_holds_both_disks_back_where_it_lets_less_through(
    machine: Limits | None, binds: bool
) -> None:
    log = replace(build_tier("premium"), limits=Limits(500))
    both = disk_of(replace(build_tier("premium"), wal=log), machine=machine)
    assert both.log is not None and both.log.limits.total_iops == 500
    assert (both.together is not None) is binds


@pytest.mark.parametrize(("full_pct", "binds"), [(100.0, True), (0.0, False)])
def test_a_machine_holds_back_disks_that_burst_together(
    full_pct: float, binds: bool
) -> None:
    """Their bases of 1,600 fit through 2,000, their peak with credit of 3,500 does not."""
    burst = Burst(3_500, None, 1_800.0, full_pct)
    data = replace(build_tier("premium"), limits=Limits(1_100, burst=burst))
    log = replace(build_tier("premium"), limits=Limits(500))
    both = disk_of(replace(data, wal=log), machine=Limits(2_000))
    assert (both.together is not None) is binds


def test_a_batch_of_writes_delays_the_reads_behind_it() -> None:
    """Of fifty I/Os that come at once at 1,100 a second the last waits for 45 ms."""
    one, many = (
        simulate(system(1.0, 1.0, sessions=1, batch=batch), disk(1100))
        for batch in (1.0, 50.0)
    )
    p99_s = [float(np.percentile(each.latencies_s, 99)) for each in (one, many)]
    assert p99_s[1] > p99_s[0] + 0.015


def test_how_often_a_transaction_reads_is_not_a_matter_of_who_else_reads() -> None:
    """Of Poisson's numbers around 10 18 is the 99th percentile; each waits for 16 at 1,100/s."""
    latencies_s = simulate(system(10.0, node_s=1e-5), disk(1100)).latencies_s
    assert np.percentile(latencies_s, 99) == pytest.approx(18 * 16 / 1100, rel=0.06)


def test_arrivals_that_find_no_session_wait_and_count_from_when_they_were_due() -> None:
    asked = system(delay_s=0.1, node_s=0.0, sessions=4, rate_per_s=50.0)
    simulated = simulate(asked, disk())
    assert simulated.throughput_per_s == pytest.approx(4 / 0.1001, rel=0.06)
    assert simulated.latencies_s.mean() > 1.0


def test_a_slower_tier_gets_less_far_in_warming_the_cache() -> None:
    """Of 60 s, of which 6 s warm up: 20 reads for each of the first 1,000 transactions, then one.
    At 1,100 IOPS 18 s go by with them, 12 s of which are measured."""
    warming = replace(
        system(node_s=1e-5),
        stages=(Stage(1000.0, 20.0, 0.0), Stage(math.inf, 1.0, 0.0)),
    )
    slow = simulate(warming, disk(1100))
    assert slow.throughput_per_s == pytest.approx((12 * 55 + 42 * 1100) / 54, rel=0.06)
    fast = simulate(warming, disk(110_000))
    assert fast.throughput_per_s == pytest.approx(16 / 0.0021, rel=0.1), (
        "it is warm at once"
    )


def test_larger_ios_count_as_several() -> None:
    asked = system(2.0, read_bytes=65_536.0)
    whole, parts = (
        simulate(asked, disk(400, io_unit_bytes=unit)) for unit in (65_536, 16_384)
    )
    assert whole.throughput_per_s == pytest.approx(4 * parts.throughput_per_s, rel=0.06)


def test_burst_credit_lasts_as_long_as_in_the_run() -> None:
    """Full, it holds 30 s at 3,500 IOPS of the 60 s, of which 6 s warm up."""
    burst = Burst(3500, None, 30.0, 100.0)
    asked = system(10.0)
    full = simulate(asked, disk(500, burst=burst))
    mean_s = (
        29 * 350 + 25 * 50
    ) / 54  # at 3,500 the credit of 3,000 × 30 lasts 35 s, less 6 s
    assert full.throughput_per_s == pytest.approx(mean_s, rel=0.2)
    empty = simulate(asked, disk(500, burst=replace(burst, start_pct=0.0)))
    assert empty.throughput_per_s == pytest.approx(50, rel=0.06)
    long = simulate(asked, disk(500, burst=replace(burst, duration_s=600.0)))
    assert (long.limit, full.limit) == ("iops_cap", "burst_exhausted")
    assert long.throughput_per_s == pytest.approx(350, rel=0.06)


def test_a_commit_waits_for_a_majority() -> None:
    """Of three logs the middle one counts: slower than one alone, faster than the slowest."""
    asked = system(commits=True, node_s=1e-5, sessions=1, nodes=3, disks=3)
    wide = SimulatedDisk(Limits(), log_normal(0.002, 0.002), log_normal(0.001, 0.02))
    alone, three = (
        simulate(replace(asked, copies=n), wide).latencies_s for n in (1, 3)
    )
    median_s = latency_quantiles.quantile_s(wide.write, 0.5)
    assert np.median(three) == pytest.approx(median_s, rel=0.2)
    assert np.percentile(three, 99) < np.percentile(alone, 99)


def test_equal_seeds_give_equal_answers_and_others_do_not() -> None:
    asked = system(3.0, node_s=2e-4)
    first, again, other = (
        Simulations().simulate(asked, disk(), seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(first.latencies_s, again.latencies_s)
    assert first.throughput_per_s != other.throughput_per_s


BURST = Burst(3500, None, 30.0, 100.0)
# From one that holds nothing back to some that hold most back, by IOPS, bytes, or spent credit.
CATALOG = (
    disk(),
    disk(160_000, bytes_per_s=4 * 10**9),
    disk(20_000, bytes_per_s=10**9),
    disk(20_000, io_unit_bytes=4096, bytes_per_s=10**9),
    disk(12_000, bytes_per_s=10**9),
    disk(5000, bytes_per_s=2 * 10**8),
    disk(3000),
    disk(1100, burst=BURST),
    disk(1100),
    disk(500, burst=BURST),
    disk(500, burst=replace(BURST, start_pct=0.0)),
    disk(120, bytes_per_s=10**6),
    disk(bytes_per_s=3 * 10**6),
    disk(20_000, latency_s=0.001),
)
LOADS = {
    "reads": system(3.0, delay_s=0.004),
    "reads behind others": system(3.0, read_ahead=2.0, delay_s=0.004),
    "commits": system(
        1.0, 2.0, commits=True, log_bytes=900.0, nodes=3, disks=3, copies=3
    ),
    "batches": system(1.0, 2.0, batch=40.0, delay_s=0.01),
    "own pages": system(0.5, 3.0, round_pages=1.0, ahead=2.0, delay_s=0.01),
    "large reads": system(1.0, read_bytes=200_000.0, delay_s=0.02),
    "arrivals": system(2.0, rate_per_s=300.0),
    "cache": replace(
        system(delay_s=0.004),
        stages=(Stage(3000.0, 8.0, 0.0), Stage(math.inf, 0.5, 0.0)),
    ),
}


@pytest.mark.parametrize("load", LOADS)
def test_disks_that_share_a_simulation_are_as_if_each_had_its_own(load: str) -> None:
    together = Simulations(events=5000)
    for of in CATALOG:
        shared = together.simulate(LOADS[load], of)
        alone = Simulations(events=5000).simulate(LOADS[load], of)
        assert np.array_equal(shared.latencies_s, alone.latencies_s)
        assert shared.throughput_per_s == alone.throughput_per_s
        assert shared.sync_s == alone.sync_s
        assert shared.read_s == alone.read_s
        assert shared.limit == alone.limit


# A layout on machines that let both disks' I/Os through, or hold some back, or most of them.
LAYOUT = disk(5000, log=disk(5000))
ON_MACHINES = (
    LAYOUT,
    replace(LAYOUT, together=Limits(9000, 10**9)),
    replace(LAYOUT, together=Limits(1000)),
    replace(LAYOUT, together=Limits(300)),
    replace(LAYOUT, together=Limits(300, burst=BURST)),
    replace(LAYOUT, together=Limits(300, burst=replace(BURST, duration_s=1.0))),
    replace(LAYOUT, together=Limits(9000, 3 * 10**6)),
    disk(5000, log=disk(400), together=Limits(300)),
    disk(5000, log=disk(400), together=Limits(9000)),
)


@pytest.mark.parametrize("load", ["commits", "batches"])
def test_layouts_that_share_a_simulation_are_as_if_each_had_its_own(load: str) -> None:
    asked = replace(LOADS[load], commits=True, log_bytes=900.0)
    together = Simulations(events=3000)
    for of in ON_MACHINES:
        shared = together.simulate(asked, of)
        alone = Simulations(events=3000).simulate(asked, of)
        assert np.array_equal(shared.latencies_s, alone.latencies_s)
        assert shared.throughput_per_s == alone.throughput_per_s
        assert shared.limit == alone.limit


def test_machines_that_hold_nothing_back_are_simulated_once() -> None:
    simulations = Simulations(events=3000)
    asked = LOADS["commits"]
    for iops in range(6000, 9000, 1000):
        simulations.simulate(asked, replace(LAYOUT, together=Limits(iops)))
    simulations.simulate(asked, LAYOUT)
    ((_, of_free_machines),) = simulations.courses.items()
    assert len(of_free_machines) == 1
    slowest = simulations.simulate(asked, replace(LAYOUT, together=Limits(100)))
    assert len(simulations.courses) == 2, "it holds both disks back"
    assert slowest.limit == "vm_cap"


def test_disks_that_hold_nothing_back_are_simulated_once() -> None:
    """The rates of a catalog are many, of most of which a load uses little."""
    simulations = Simulations(events=5000)
    for iops in range(20_000, 60_000, 1000):
        simulations.simulate(LOADS["reads"], disk(iops))
    ((_, of_fast_disks),) = simulations.courses.items()
    assert len(of_fast_disks) == 1
    simulations.simulate(LOADS["reads"], disk(500))
    assert len(simulations.courses) == 2, "it holds reads back"


@pytest.mark.parametrize("rate", [40.0, 90.0, 110.0, 200.0, math.inf])
@pytest.mark.parametrize("saved_s", [0.0, 3.0])
def test_whether_a_bucket_holds_back_is_told_of_all_at_once(
    rate: float, saved_s: float
) -> None:
    """A hundred units a second in the mean, of which some come together."""
    rng = np.random.default_rng(7)
    times_s = np.cumsum(rng.exponential(0.01, 1000))
    units = np.ones(1000)
    bucket = RateBucket("iops_cap", rate, 0.05 + saved_s, saved_s)
    never_waits = bucket.never_waits(times_s, units)
    waited = 0
    for time_s, unit in zip(times_s.tolist(), units.tolist(), strict=True):
        waited += bucket.admit(time_s, unit) > time_s
    assert never_waits == (waited == 0)


# ------------------------------------------------------------------ from a run


def test_demands_are_counters_by_transactions() -> None:
    run = run_of(syncing_campaign(), "ultra")
    asked, own = model(run, None, None)
    rate = next(
        m.value for m in run.record.measurements if m.metric == "throughput_per_s"
    )
    assert asked.node_s * rate == pytest.approx(0.66 * 8, rel=0.02)
    until, reads, writes = asked.stages[-1]
    assert (len(asked.stages), until) == (54, math.inf)
    assert reads * rate == pytest.approx(1600, rel=0.05)
    assert (writes + 0.5) * rate == pytest.approx(1000, rel=0.05)
    assert (asked.log_bytes, asked.sessions, asked.commits) == (4096, 24, True)
    assert asked.sync_s == pytest.approx(0.0003, rel=0.01), (
        "0.8 ms, of which 0.5 ms are a write"
    )
    assert asked.waiting == 0
    assert own.limits.iops == 10_000
    measured_s = next(
        m.value for m in run.record.measurements if m.metric == "latency_avg_s"
    )
    again_s = simulate(asked, own).latencies_s.mean()
    assert again_s == pytest.approx(measured_s, rel=0.05), (
        "the delay makes up for what is left"
    )


def seeing(run: RunData, **sessions: float) -> RunData:
    """With sessions that were seen once a second, by what they waited for."""

    def parts() -> Iterator[pd.DataFrame]:
        for table in run.sampled.parts():
            ticks = (
                table[["time_s", "phase"]]
                .drop_duplicates()
                .assign(node="node-1", unit="")
            )
            seen = [
                ticks.assign(metric=f"sessions_{n}", value=v)
                for n, v in sessions.items()
            ]
            yield pd.concat(
                [table.astype({"node": str, "metric": str, "unit": str}), *seen]
            )

    return replace(run, sampled=Samples(parts))


def test_sessions_that_were_seen_say_what_is_no_delay() -> None:
    """A tenth of the time in I/O, of which its reads of 0.7 ms are less, and the rest its own
    writes: those beyond the 500 a second of the writer; and a tenth in locks."""
    run = run_of(syncing_campaign(), "ultra")
    plain, _ = model(run, None, None)
    figures = {m.metric: m.value for m in run.record.measurements if m.scope == "all"}
    rate, took_s = figures["throughput_per_s"], figures["latency_avg_s"]
    asked, _ = model(seeing(run, running=16.0, reading=2.0, locked=2.0), None, None)
    _, reads, writes = asked.stages[-1]
    assert asked.waiting == pytest.approx(0.1 / 0.9)
    own_s = (took_s / 10 - reads * SHAPES["ultra", "tpcc"].await_s) / (
        writes - 500 / rate
    )
    assert (own_s - 5e-4) * 10_000 == pytest.approx(asked.ahead, rel=0.15)
    assert asked.delay_s < plain.delay_s - took_s / 10
    assert (plain.round_pages, asked.round_pages) == (0, 100), (
        "only PostgreSQL says what is waited"
    )


def with_counter(run: RunData, name: str, times: float) -> RunData:
    """The run, with so many times as much of a counter."""

    def parts() -> Iterator[pd.DataFrame]:
        for table in run.sampled.parts():
            is_other = table["metric"] != name
            yield table.assign(
                value=table["value"].where(is_other, times * table["value"])
            )

    return replace(run, sampled=Samples(parts))


def with_reads(run: RunData, times: float) -> RunData:
    """The run, with reads that took so many times as long."""
    return with_counter(run, counter_names.READ_SECONDS, times)


def test_reads_that_took_longer_than_simulated_wait_behind_others() -> None:
    """They wait the longer the fewer I/Os a disk lets through, which a delay would not."""
    run = run_of(syncing_campaign(), "ultra")
    read_s = SHAPES["ultra", "tpcc"].await_s
    asked, fast = model(run, None, None)
    without = simulate(replace(asked, read_ahead=0.0), fast)
    longer_s = read_s - without.read_s
    assert longer_s > 1e-4
    assert asked.read_ahead == pytest.approx(10_000 * longer_s, rel=0.1)
    again = simulate(asked, fast)
    assert again.read_s == pytest.approx(read_s, rel=0.02)
    slow = replace(fast, limits=replace(fast.limits, iops=5000))
    slower_s = simulate(asked, slow).read_s - again.read_s
    assert slower_s == pytest.approx(longer_s, rel=0.1), "twice as long behind them"


def test_seconds_at_a_cap_tell_nothing_of_waits_behind_others() -> None:
    """There reads wait for the cap, which a faster disk does not have: it stays a delay."""
    run = run_of(syncing_campaign(), "ultra")
    took_s = whole([run], ("latency_avg_s", "all"))[0]
    free, _ = model(run, None, None)
    seen = {"time_at_iops_cap_pct": 40.0, "held_back_pct": 50.0}
    run.seen_of_nodes[None] = {"db-1": of_figures(seen)}
    assert time_at_cap(run, None) == pytest.approx(0.4)
    at_times, own = model(run, None, None)
    assert at_times.read_ahead == pytest.approx(0.6 * free.read_ahead, rel=0.05)
    assert at_times.delay_s > free.delay_s
    assert simulate(at_times, own).latencies_s.mean() == pytest.approx(took_s, rel=0.05)


def test_reads_that_waited_for_nothing_else_are_as_simulated() -> None:
    asked, own = model(with_reads(run_of(syncing_campaign(), "ultra"), 0.5), None, None)
    assert asked.read_ahead == 0
    assert simulate(asked, own).read_s == pytest.approx(0.0005, rel=0.02)


def test_no_transaction_waits_longer_for_reads_than_it_took() -> None:
    """A read that is made ahead of its use takes time of the disk, and not of a transaction."""
    run = run_of(syncing_campaign(), "ultra")
    took_s = whole([run], ("latency_avg_s", "all"))[0]
    asked, own = model(with_reads(run, 100.0), None, None)
    assert asked.delay_s == pytest.approx(0.0, abs=0.02 * took_s)
    assert simulate(asked, own).latencies_s.mean() == pytest.approx(took_s, rel=0.05)


def test_a_few_reads_tell_nothing() -> None:
    """Of seven reads one may have waited for anything."""
    run = with_reads(run_of(syncing_campaign(), "ultra"), 2.0)
    asked, _ = model(run, None, None)
    assert asked.read_ahead > 0
    asked, _ = model(with_counter(run, counter_names.READS, 1e-4), None, None)
    assert asked.read_ahead == 0


def test_a_disk_without_a_cap_has_nothing_ahead_and_all_of_the_delay() -> None:
    """Reads that took longer are a part of the delay there, which is not lost."""
    run = run_of(syncing_campaign(), "ultra")
    took_s = whole([run], ("latency_avg_s", "all"))[0]
    tier = run.record.profile.tier
    profile = replace(run.record.profile, tier=replace(tier, limits=Limits()))
    run = replace(run, record=replace(run.record, profile=profile))
    asked, own = model(with_reads(run, 2.0), None, None)
    assert asked.read_ahead == 0
    assert simulate(asked, own).latencies_s.mean() == pytest.approx(took_s, rel=0.05)


def test_a_run_at_its_cap_is_refused_and_says_which_would_do() -> None:
    with pytest.raises(
        UsageError, match="premium-tpcc-r1 was at a cap of its disk for 100 %"
    ) as no:
        model(run_of(syncing_campaign(), "premium"), None, None)
    assert "--probe" in no.value.advice


def at_times(run: RunData, share: float) -> RunData:
    """At 10,000 IOPS in that share of each ten seconds, where I/Os wait, and at a third else."""

    def parts() -> Iterator[pd.DataFrame]:
        for table in run.sampled.parts():
            seconds = table["time_s"].rank(method="dense") % 10
            growth = np.where(seconds < 10 * share, 10_000.0, 3_300.0)
            for (_, metric), of in table.groupby(["node", "metric"], observed=True):
                if metric in ("disk_reads_total", "disk_writes_total"):
                    of = of.assign(value=growth[of.index].cumsum() / 2)
                if metric in ("disk_read_seconds_total", "disk_write_seconds_total"):
                    of = of.assign(value=growth[of.index].cumsum() / 2 * 0.002)
                yield of

    return replace(run, sampled=Samples(parts))


def test_a_run_at_its_cap_at_times_is_told_with_wider_intervals_and_half_the_time_refused() -> (
    None
):
    results = syncing_campaign()
    run = run_of(results, "ultra")

    def width(share: float) -> float:
        own = at_times(run, share)
        assert time_at_cap(own, None) == pytest.approx(share, abs=0.02)
        alone = replace(results, runs=(own,))
        figure = (
            Predictor(alone, own)
            .predict(build_tier("premium"))
            .figures["throughput_per_s"]
        )
        return math.log(figure.high / figure.low)

    assert width(0.4) > 1.2 * width(0.0)
    with pytest.raises(UsageError, match=r"at a cap of its disk for [67]\d % of"):
        width(0.7)


def test_a_cap_that_is_reached_without_waiting_hides_nothing() -> None:
    """One session on 500 IOPS of 2 ms is at the cap, and no I/O waits."""
    shape = Shape(200.0, 495.0, 5.0, await_s=0.002, cpu_pct=5.0)
    shapes = {("premium", "tpcc"): shape}
    results = with_tier(syncing_campaign(shapes=shapes), "premium", iops=500)
    assert time_at_cap(run_of(results, "premium"), None) == 0


def test_a_run_that_lacks_a_stage_predicts_no_tier() -> None:
    run = run_of(syncing_campaign(), "ultra")
    load = replace(run.record.workload, varied=Varied("tpcc", "without", "commit"))
    with pytest.raises(UsageError, match="measured without commit") as refused:
        model(replace(run, record=replace(run.record, workload=load)), None, None)
    assert "has all stages" in refused.value.advice


def quiet(results: Results, tier: str) -> Results:
    """With a run of one session beside: 40 a second, of which each takes 25 ms."""
    record = run_of(results, tier).record
    load = replace(record.workload, name="tpcc-at-1-threads", threads=1)
    run = replace(record.run, number=99, workload=load.name)
    shape = Shape(40.0, 90.0, 50.0, await_s=0.002, cpu_pct=6.0, client_cpu_pct=0.1)
    alone = build_run(run, record.profile, load, shape)
    return replace(
        results, runs=(*results.runs, replace(alone, record=syncing(alone.record)))
    )


def test_a_quiet_run_beside_it_gives_the_delay_of_a_run_at_its_cap() -> None:
    results = quiet(syncing_campaign(), "premium")
    run = run_of(results, "premium")
    beside = quiet_run(results, run)
    assert beside is not None and beside.record.workload.threads == 1
    asked, _ = model(run, beside, None)
    # 25 ms, without 12 ms of CPU, some for the client, 2.25 reads and a sync of 2 ms each
    assert 0.003 < asked.delay_s < 0.009
    assert asked.sessions == 24, "the load stays that of the run"
    assert quiet_run(syncing_campaign(), run) is None


def test_a_full_cpu_leaves_no_delay_to_be_told() -> None:
    shapes = {("ultra", "tpcc"): replace(SHAPES["ultra", "tpcc"], cpu_pct=85.0)}
    asked, _ = model(run_of(syncing_campaign(shapes=shapes), "ultra"), None, None)
    assert asked.delay_s == 0.0


def test_what_was_not_sampled_is_refused() -> None:
    with pytest.raises(UsageError, match="are not all known"):
        model(run_of(syncing_campaign(frames=False), "ultra"), None, None)


def with_a_log_disk(run: RunData, log: Limits) -> RunData:
    """The run as it is told if its nodes have a disk for their log alone, with such limits."""
    record = run.record
    nodes = tuple(replace(node, wal_device="loop9") for node in record.nodes)
    tier = record.profile.tier
    tier = replace(tier, wal=replace(tier, name="log", limits=log))
    profile = replace(record.profile, tier=tier)
    return replace(run, record=replace(record, nodes=nodes, profile=profile))


def test_syncs_of_a_log_apart_are_not_taken_off_what_the_data_wrote() -> None:
    run = run_of(syncing_campaign(), "ultra")
    on_one_disk, _ = model(run, None, None)
    apart, disk = model(with_a_log_disk(run, Limits(500)), None, None)
    assert on_one_disk.log_bytes == apart.log_bytes > 0
    assert apart.stages[-1].writes > on_one_disk.stages[-1].writes
    assert disk.log is not None and disk.log.limits.iops == 500


@pytest.mark.parametrize(("share_pct", "is_refused"), [(94.0, False), (95.0, True)])
def test_a_log_at_the_cap_of_its_disk_hides_what_else_takes_time(
    share_pct: float, is_refused: bool
) -> None:
    run = with_a_log_disk(run_of(syncing_campaign(), "ultra"), Limits(500))
    run.seen_of_nodes[None] = {"db-1": of_figures({"wal_iops_of_cap_pct": share_pct})}
    assert (time_at_cap(run, None) >= demands.CAPPED) is is_refused


def test_a_run_s_own_disks_are_simulated_behind_their_machine() -> None:
    run = with_a_log_disk(run_of(syncing_campaign(), "ultra"), Limits(50_000))
    record = run.record
    machine = MachineLimits("azure/Standard_D4s_v5", Limits(6_400))
    tier = replace(record.profile.tier, machine=machine)
    profile = replace(record.profile, tier=tier)
    _, disk = model(replace(run, record=replace(record, profile=profile)), None, None)
    assert disk.together == Limits(6_400)


@pytest.mark.parametrize(("time_pct", "is_refused"), [(49.0, False), (50.0, True)])
def test_a_machine_that_holds_both_disks_back_hides_what_else_takes_time(
    time_pct: float, is_refused: bool
) -> None:
    run = with_a_log_disk(run_of(syncing_campaign(), "ultra"), Limits(500))
    seen = {"time_at_machine_iops_cap_pct": time_pct, "held_back_pct": 50.0}
    run.seen_of_nodes[None] = {"db-1": of_figures(seen)}
    assert (time_at_cap(run, None) >= demands.CAPPED) is is_refused


def test_a_window_with_a_slow_disk_is_refused() -> None:
    run = run_of(syncing_campaign(), "ultra")
    slow = (SlowDisk("node-1", "share", 10.0, 5.0),)
    load = replace(run.record.workload, slow=slow)
    slowed = replace(run, record=replace(run.record, workload=load))
    with pytest.raises(UsageError, match="a disk was slow in the window"):
        model(slowed, None, None)


def test_latencies_are_the_gates_then_the_declared() -> None:
    tier = build_tier("ultra")
    assert latency_quantiles.quantile_s(disk_of(tier).read, 0.5) == pytest.approx(
        0.0005, rel=0.01
    )
    checks = (
        GateCheck("", "s", None, 0.001, None, "ok", "latency_read"),
        GateCheck("", "s", None, 0.01, None, "ok", "latency_p99_read"),
    )
    gated = disk_of(tier, Gate("ultra", 0.0, checks))
    p50_s, p99_s = (latency_quantiles.quantile_s(gated.read, p) for p in (0.5, 0.99))
    assert p50_s == pytest.approx(0.001, rel=0.02)
    assert p99_s == pytest.approx(0.01, rel=0.1)
    with pytest.raises(UsageError, match="the time that a read of"):
        disk_of(changed(tier, read_latency_s=None))


def test_what_the_gate_measured_of_a_real_disk_of_the_log_is_not_that_of_the_data() -> (
    None
):
    data = GateCheck("", "s", None, 0.001, None, "ok", "latency_read")
    data = replace(data, disk="node-1 (/mnt/d-1)", nodes=("node-1",))
    log = replace(data, measured=0.004, disk="node-1's WAL (/mnt/w-1)", nodes=())
    checks = (data, replace(log, holds_log_alone=True))
    tier = replace(build_tier("ultra"), wal=build_tier("ultra"))
    gated = disk_of(tier, Gate("ultra", 0.0, checks))
    assert gated.log is not None
    medians = [
        latency_quantiles.quantile_s(disk.read, 0.5) for disk in (gated, gated.log)
    ]
    assert medians == pytest.approx([0.001, 0.004], rel=0.02)


# ------------------------------------------------------------------ predictions


def test_predictions_follow_the_disk_and_upwards_ones_are_wider() -> None:
    results = syncing_campaign()
    predictor = Predictor(results, run_of(results, "premium-v2"))
    slower, faster = (
        predictor.predict(build_tier(name)) for name in ("premium", "ultra")
    )
    assert (
        slower.figures["throughput_per_s"].value
        < faster.figures["throughput_per_s"].value
    )
    assert (slower.upwards, faster.upwards) == (False, True)
    assert (slower.limit, slower.monthly_cost) == ("iops_cap", 34.56)
    widths = [
        math.log(p.figures["throughput_per_s"].high / p.figures["throughput_per_s"].low)
        for p in (slower, faster)
    ]
    assert widths[0] < widths[1]
    average = slower.figures["latency_avg_s"]
    assert average.low < average.value < average.high


@pytest.mark.parametrize("mixed", [False, True])
def test_what_a_percentile_is_longer_than_simulated_stays_or_grows_with_a_mix(
    mixed: bool,
) -> None:
    """Half a second longer than measured, on another tier: of transactions that are all alike half
    a second too, of a mix, which is not simulated, as many times as long."""
    results = syncing_campaign()
    scope = "new_order" if mixed else "all"

    def p99_s(longer_s: float) -> tuple[float, float]:
        def with_p99(record: Record) -> Record:
            of_all = {
                m.metric: m.value for m in record.measurements if m.scope == "all"
            }
            of_all["latency_p99_s"] = 1.0 + longer_s
            own = tuple(measured(name, value) for name, value in of_all.items())
            return replace(
                record, measurements=(*own, measured("transactions", 9999.0, scope))
            )

        runs = tuple(replace(run, record=with_p99(run.record)) for run in results.runs)
        changed_so = replace(results, runs=runs)
        predictor = Predictor(changed_so, run_of(changed_so, "ultra"))
        figures = predictor.predict(build_tier("premium-v2")).figures
        return 1.0 + longer_s, figures["latency_p99_s"].value

    (here, there), (longer, grown) = p99_s(0.0), p99_s(0.5)
    if mixed:
        assert grown / there == pytest.approx(longer / here)
    else:
        assert grown - there == pytest.approx(0.5)


def test_an_interval_holds_the_noise_between_runs() -> None:
    def width(noise_pct: float) -> float:
        results = build_campaign(
            workloads=["tpcc"],
            repetitions=3,
            nodes=1,
            noise_pct=noise_pct,
            change=syncing,
        )
        predictor = Predictor(results, run_of(results, "ultra"))
        figure = predictor.predict(build_tier("premium")).figures["throughput_per_s"]
        return math.log(figure.high / figure.low)

    assert width(20.0) > 1.2 * width(1.0)


def test_nopm_follows_the_rate_of_all_transactions() -> None:
    """NOPM counts one type by the minute, and a simulation has all types by the second."""
    results = build_campaign(workloads=["tpcc"], repetitions=3, nodes=1, change=syncing)
    predictor = Predictor(results, run_of(results, "ultra"))
    rates = (Objective("throughput_per_s", "all", 1.0), Objective("nopm", "all", 1.0))
    predicted = predictor.predict(build_tier("ultra"), rates).figures
    runs = finished(results, "ultra", "tpcc")
    measured_nopm = fmean(whole(runs, ("nopm", "all")))
    measured_per_s = fmean(whole(runs, ("throughput_per_s", "all")))
    nopm = predicted["nopm"]
    per_s = predicted["throughput_per_s"]
    assert nopm.value / measured_nopm == pytest.approx(per_s.value / measured_per_s)
    assert nopm.high / nopm.low == pytest.approx(per_s.high / per_s.low, rel=0.01)


def test_all_nodes_disks_cost() -> None:
    results = build_campaign(workloads=["tpcc"], repetitions=1, nodes=3, change=syncing)
    predictor = Predictor(results, run_of(results, "ultra"))
    assert predictor.predict(build_tier("premium")).monthly_cost == pytest.approx(
        3 * 34.56
    )

"""Synthetic campaigns: whole results folders in memory, with figures that hang together.

Throughput, latency and threads obey Little's law, counters rise at the rates the measurements
claim, and a seed makes everything repeatable. Tests of analysis and report build on this.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry.counters.sample_tables import Samples
from orchestrator.metrics import measured
from orchestrator.model import (
    RESULTS_FORMAT,
    ClusterSpec,
    Dataset,
    Measurement,
    NodeSize,
    Note,
    Outcome,
    Phase,
    Plan,
    Profile,
    Record,
    Run,
    Workload,
)
from orchestrator.plan_parts import Judging, Repeats
from orchestrator.system import campaign_writing, parquet, store
from orchestrator.tier import Burst, Gate, GateCheck, LatencyModel, Price, Tier
from tests.campaign_tables import (
    FACTORS,
    GIB,
    TRANSACTIONS,
    Shape,
    empty_intervals,
    empty_samples,
    held,
    intervals_of,
    nodes_of,
    sampled_in,
    samples_of,
    transactions_of,
)
from tests.tiers import a_tier, changed

START_S = 1_750_000_000.0
THREADS = {"point-select": 60, "insert": 24, "tpcc": 24}

Cell = tuple[str, str]  # profile, workload


SHAPES: dict[Cell, Shape] = {
    ("premium", "point-select"): Shape(1574.0, 1096.0, 2.0, 0.0180, 41.0),
    ("premium-v2", "point-select"): Shape(4305.0, 5375.0, 3.0, 0.0011, 91.0),
    ("ultra", "point-select"): Shape(4310.0, 5390.0, 3.0, 0.0007, 92.0),
    ("premium", "insert"): Shape(590.0, 20.0, 690.0, 0.0026, 90.0),
    ("premium-v2", "insert"): Shape(597.0, 20.0, 700.0, 0.0013, 91.0),
    ("ultra", "insert"): Shape(600.0, 20.0, 705.0, 0.0007, 92.0),
    ("premium", "tpcc"): Shape(310.0, 700.0, 395.0, 0.0150, 52.0),
    ("premium-v2", "tpcc"): Shape(431.0, 1500.0, 900.0, 0.0012, 62.0),
    ("ultra", "tpcc"): Shape(470.0, 1600.0, 1000.0, 0.0007, 66.0),
}


def build_tier(name: str, *, priced: bool = True, burst: bool = False) -> Tier:
    """One of premium, premium-v2 and ultra, as the study declares them."""
    title, iops, bytes_per_s, latency_s, monthly = {
        "premium": ("Premium SSD P15", 1_100, 125_000_000, 0.002, 34.56),
        "premium-v2": ("Premium SSD v2", 10_000, 250_000_000, 0.0008, 85.0),
        "ultra": ("Ultra Disk", 10_000, 250_000_000, 0.0005, 260.0),
    }[name]
    price = Price(monthly, "USD", "westus2", "2026-01-01", "example price list")
    return a_tier(
        name=name,
        title=title,
        enforcement="emulated",
        iops=iops,
        bytes_per_s=bytes_per_s,
        read_latency_s=latency_s,
        write_latency_s=latency_s,
        burst=Burst(3_500, 170_000_000, 1_800.0, 100.0)
        if burst and name == "premium"
        else None,
        price=price if priced else None,
        source="study-azure-yugabytedb.yaml",
        as_of="2026-01-01",
    )


def build_profile(
    name: str, *, nodes: int = 3, cpus: float = 8.0, priced: bool = True
) -> Profile:
    return Profile(
        name=name,
        question=f"How fast is the cluster on {name}?",
        tier=build_tier(name, priced=priced),
        cluster=ClusterSpec(
            database="postgresql",
            nodes=nodes,
            replication_factor=nodes,
            node=NodeSize(cpus=cpus, memory_bytes=GIB, disk_bytes=250 * GIB),
            version="17.2",
        ),
    )


def build_workload(
    name: str, *, warmup_s: float = 10.0, measure_s: float = 60.0
) -> Workload:
    tpcc = name == "tpcc"
    family = "tpcc" if tpcc else "sbtest"
    parameters = {"warehouses": 20} if tpcc else {"tables": 20, "rows": 1_000_000}
    return Workload(
        name=name,
        title={
            "point-select": "Point select",
            "insert": "Insert",
            "tpcc": "TPC-C-derived",
        }[name],
        generator="sysbench",
        script=f"{name}.lua",
        dataset=Dataset(family, parameters),
        scale="laptop",
        threads=THREADS[name],
        loader_threads=4,
        warmup_s=warmup_s,
        measure_s=measure_s,
        statements_per_transaction=None if tpcc else 10,
    )


def build_gate(tier: Tier, *, measured_iops: float | None = None) -> Gate:
    """A gate that passed, or one that failed where `measured_iops` is far from declared."""
    declared = float(tier.limits.iops or 0)
    value = declared * 0.99 if measured_iops is None else measured_iops
    verdict = "ok" if abs(value - declared) <= 0.05 * declared else "slow"
    return Gate(
        tier.name,
        START_S - 600.0,
        (GateCheck("read IOPS", "1/s", declared, value, 5.0, verdict),),  # type: ignore[arg-type]
    )


def _measurements(
    workload: Workload, throughput_per_s: float
) -> tuple[Measurement, ...]:
    average_s = workload.threads / throughput_per_s
    count = throughput_per_s * workload.measure_s
    figures = [
        measured("throughput_per_s", throughput_per_s),
        measured("transactions", count),
    ]
    figures += [measured("failures", 0.0), measured("retries", 0.0)]
    figures += _latencies(average_s, "all")
    if workload.statements_per_transaction:
        per_statement_s = average_s / workload.statements_per_transaction
        figures.append(measured("statement_latency_avg_s", per_statement_s))
    if workload.name == "tpcc":
        figures.append(measured("nopm", throughput_per_s * 0.45 * 60.0))
        figures.append(measured("rollbacks", count * 0.0045))
        for scope, (share, weight) in TRANSACTIONS.items():
            figures.append(
                measured("throughput_per_s", throughput_per_s * share, scope)
            )
            figures.append(measured("transactions", count * share, scope))
            figures += _latencies(average_s * weight, scope)
    return tuple(figures)


def _latencies(average_s: float, scope: str) -> list[Measurement]:
    return [
        measured(f"latency_{name}_s", average_s * factor, scope)
        for name, factor in FACTORS.items()
    ]


def default_facts(profile: Profile) -> dict[str, Any]:
    """Facts as a run leaves them; the data set is six times the cache."""
    database = {
        "database": profile.cluster.database,
        "version": profile.cluster.version,
        "durability": {"fsync": "on", "synchronous_commit": "on"},
        "data_bytes": 6 * GIB,
        "cache_bytes": GIB,
    }
    return {
        "tier": {"mechanism": profile.tier.disk.enforcement},
        "database_before": dict(database),
        "database": database,
        "telemetry": {"ticks": 70, "cost_s_per_tick": 0.002, "misses": {}},
        "generator": {"name": "sysbench", "version": "1.0.20"},
    }


def build_run(
    run: Run,
    profile: Profile,
    workload: Workload,
    shape: Shape,
    *,
    start_s: float = START_S,
    outcome: Outcome = "done",
    drift_pct: float = 0.0,
    host_cpus: float = 32.0,
    frames: bool = True,
    seed: int = 1,
) -> RunData:
    """One run whose every table agrees with `shape`. A run not done has no figures."""
    middle_s = start_s + workload.warmup_s
    phases = (
        Phase("warm-up", start_s, middle_s),
        Phase("measure", middle_s, middle_s + workload.measure_s),
    )
    nodes = nodes_of(profile, host_cpus)
    done = outcome == "done"
    record = Record(
        schema_version=RESULTS_FORMAT,
        run=run,
        profile=profile,
        workload=workload,
        outcome=outcome,
        failure=None if done else "node-1 stopped answering",
        phases=phases if done else phases[:1],
        nodes=nodes,
        measurements=_measurements(workload, shape.throughput_per_s) if done else (),
        gate=build_gate(profile.tier),
        facts=default_facts(profile),
    )
    if not (frames and done):
        return RunData(record, empty_intervals, held(empty_samples()))
    rate_per_s = shape.throughput_per_s
    # Made when they are read, because most tests read records alone.
    intervals = partial(intervals_of, workload, phases, rate_per_s, drift_pct, seed)
    samples = cache(partial(samples_of, nodes, phases, shape, host_cpus, seed + 1))
    return RunData(
        record,
        cache(intervals),
        Samples(lambda: (samples(),)),
        partial(transactions_of, workload, phases, rate_per_s, seed + 2),
    )


def with_tier(campaign: Results, *names: str, **changes: Any) -> Results:
    """The campaign with these fields of its tiers changed: of all, or of those named."""
    profiles = tuple(
        profile
        if names and profile.name not in names
        else replace(profile, tier=changed(profile.tier, **changes))
        for profile in campaign.plan.profiles
    )
    return replace(campaign, plan=replace(campaign.plan, profiles=profiles))


def with_tail(campaign: Results) -> Results:
    """The same on disks whose emulated latency has a tail, so that p99 is comparable."""
    model = LatencyModel(
        ((0.0, 5e-4), (1.0, 5e-3)), ((0.0, 5e-4), (1.0, 5e-3)), "a table", "2026"
    )
    plan = campaign.plan
    tails = (
        replace(one, tier=changed(one.tier, latency_model=model))
        for one in plan.profiles
    )
    return replace(campaign, plan=replace(plan, profiles=tuple(tails)))


def build_campaign(
    *,
    profiles: Sequence[str] = ("premium", "premium-v2", "ultra"),
    workloads: Sequence[str] = ("point-select", "insert", "tpcc"),
    repetitions: int = 3,
    baseline: str | None = None,
    effects: Mapping[Cell, float] | None = None,
    shapes: Mapping[Cell, Shape] | None = None,
    values: Mapping[Cell, Sequence[float]] | None = None,
    noise_pct: float = 1.0,
    drift_pct: float = 0.0,
    missing: Iterable[Cell] = (),
    failed: Iterable[int] = (),
    interrupted: Iterable[int] = (),
    nodes: int = 3,
    cpus: float = 8.0,
    host_cpus: float = 32.0,
    warmup_s: float = 10.0,
    measure_s: float = 60.0,
    margin_pct: float = 5.0,
    priced: bool = True,
    notes: tuple[Note, ...] = (),
    frames: bool = True,
    seed: int = 42,
    change: Callable[[Record], Record] | None = None,
) -> Results:
    """A finished campaign, repetition by repetition over all cells.

    effects: factor on a cell's throughput (latency follows by Little's law).
    shapes: replaces a cell's behaviour altogether. values: exact throughputs per repetition.
    noise_pct: run-to-run standard deviation. drift_pct: change of throughput over the window.
    missing: cells planned but without any run. failed, interrupted: run numbers (from 1).
    change: applied to every record last. frames False leaves the tables empty, which is fast.
    """
    generator = np.random.default_rng(seed)
    made = tuple(
        build_profile(name, nodes=nodes, cpus=cpus, priced=priced) for name in profiles
    )
    loads = tuple(
        build_workload(w, warmup_s=warmup_s, measure_s=measure_s) for w in workloads
    )
    order = [(k, p, w) for k in range(1, repetitions + 1) for p in made for w in loads]
    runs = tuple(
        Run(i, p.name, w.name, k) for i, (k, p, w) in enumerate(order, start=1)
    )
    chosen, factors, exact = {**SHAPES, **(shapes or {})}, effects or {}, values or {}
    absent, broken, stopped = set(missing), set(failed), set(interrupted)
    data: list[RunData] = []
    for run, (k, profile, workload) in zip(runs, order, strict=True):
        cell = (profile.name, workload.name)
        factor = factors.get(cell, 1.0) * generator.normal(1.0, noise_pct / 100.0)
        if cell in absent:
            continue
        shape = chosen[cell]
        rate = exact[cell][k - 1] if cell in exact else shape.throughput_per_s * factor
        outcome: Outcome = "failed" if run.number in broken else "done"
        found = build_run(
            run,
            profile,
            workload,
            replace(shape, throughput_per_s=rate),
            start_s=START_S + (run.number - 1) * (warmup_s + measure_s + 60.0),
            outcome="interrupted" if run.number in stopped else outcome,
            drift_pct=drift_pct,
            host_cpus=host_cpus,
            frames=frames,
            seed=seed * 1_000 + run.number * 2,
        )
        data.append(
            found if change is None else replace(found, record=change(found.record))
        )
    plan = Plan(
        name="synthetic",
        scale="laptop",
        baseline=baseline or made[0].name,
        repeats=Repeats(repetitions, seed),
        judging=Judging(margin_pct),
        profiles=made,
        workloads=loads,
        runs=runs,
        estimate_s=len(runs) * (warmup_s + measure_s + 60.0),
        notes=notes,
    )
    host = {"hostname": "example", "cpus": int(host_cpus), "memory_bytes": 64 * GIB}
    tiers, names = (" ".join(one.name for one in every) for every in (made, loads))
    command = shlex.join(
        ["tierbench", "compare", "--profiles", tiers, "--workloads", names]
    )
    fingerprint = {
        "tierbench": "0.1.0",
        "host": host,
        "command": command,
        "directory": "/home/dba",
    }
    return Results("2026-01-01T000000Z-synthetic", plan, fingerprint, tuple(data))


def later(campaign: Results, days: float, **fingerprint: Any) -> Results:
    """The campaign as if it had been measured so many days later; its name says so."""
    runs = tuple(
        replace(
            run,
            record=replace(
                run.record,
                phases=tuple(
                    replace(
                        p,
                        start_s=p.start_s + days * 86_400,
                        end_s=p.end_s + days * 86_400,
                    )
                    for p in run.record.phases
                ),
            ),
        )
        for run in campaign.runs
    )
    facts = {**campaign.fingerprint, **fingerprint}
    return replace(campaign, name=f"day-{days:g}", runs=runs, fingerprint=facts)


def of_a_day(
    day: int, rates: Sequence[float], profile: str = "ultra", **fingerprint: Any
) -> Results:
    """A tier under `point-select`, a run for each rate; so many days after the others."""
    built = build_campaign(
        profiles=[profile],
        workloads=["point-select"],
        repetitions=len(rates),
        values={(profile, "point-select"): tuple(rates)},
        frames=False,
    )
    return later(built, day, **fingerprint)


def with_facts(workload: str, *of_runs: Mapping[str, Any]) -> Results:
    """Premium under one workload, a run for each of `of_runs`, which are facts of its record."""
    plain = build_campaign(
        profiles=["premium"], workloads=[workload], repetitions=len(of_runs)
    )
    runs: list[RunData] = []
    for run, more in zip(plain.runs, of_runs, strict=True):
        facts = {**run.record.facts, **more}
        runs.append(replace(run, record=replace(run.record, facts=facts)))
    return replace(plain, runs=tuple(runs))


def stored(campaign: Results, results: Path) -> Path:
    """The campaign written to a results folder, without tables."""
    begin_s = min(phase.start_s for run in campaign.runs for phase in run.record.phases)
    folder = campaign_writing.create(
        results, campaign.plan, campaign.fingerprint, begin_s
    )
    for run in campaign.runs:
        run_folder = campaign_writing.run_folder(folder, run.record.run)
        campaign_writing.save_record(run_folder, run.record)
    return folder


def stored_with_tables(campaign: Results, results: Path) -> Path:
    """The campaign written to a results folder, with its transactions and samples."""
    folder = campaign_writing.create(
        results, campaign.plan, campaign.fingerprint, 1_750_000_000.0
    )
    for run in campaign.runs:
        tables = (run.intervals, None, run.sampled.parts())
        run_folder = campaign_writing.run_folder(folder, run.record.run)
        campaign_writing.save_run(run_folder, run.record, *tables)
    return folder


def in_files(campaign: Results, folder: Path, rows: int) -> Results:
    """The campaign as it is read back, with its samples in row groups of so many rows."""
    kept = stored(campaign, folder)
    for run in campaign.runs:
        table = sampled_in(run).sort_values("time_s", kind="stable", ignore_index=True)
        parts = (
            table.iloc[begin : begin + rows] for begin in range(0, len(table), rows)
        )
        out = campaign_writing.run_folder(kept, run.record.run)
        parquet.write(out / "samples.parquet", parts)
        run.intervals.to_csv(out / "intervals.csv", index=False)
    return store.load(kept)

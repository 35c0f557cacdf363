"""Each kind of doubt: raised by what it is about, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from orchestrator import doubts, likeness
from orchestrator.frames import Campaign
from orchestrator.metrics import measured
from orchestrator.model import Burst, ClusterSpec, Doubt, Measurement, NodeSize, Record
from tests.unit.campaigns import (
    GIB,
    Shape,
    build_campaign,
    build_gate,
    build_tier,
)

Change = Callable[[Record], Record]


def small(load: str = "point-select", change: Change | None = None, **more: Any) -> Campaign:
    """One real disk, two repetitions, nothing to doubt but what `more` brings."""
    asked = {"profiles": ["premium"], "repetitions": 2, **more}
    return real_disks(build_campaign(workloads=[load], nodes=1, change=change, **asked))


def real_disks(campaign: Campaign) -> Campaign:
    profiles = tuple(
        replace(profile, tier=replace(profile.tier, enforcement="mounted"))
        for profile in campaign.plan.profiles
    )
    return replace(campaign, plan=replace(campaign.plan, profiles=profiles))


def kinds(campaign: Campaign) -> set[str]:
    return {doubt.kind for doubt in doubts.find(campaign)}


def the(kind: str, campaign: Campaign) -> Doubt:
    found = [doubt for doubt in doubts.find(campaign) if doubt.kind == kind]
    assert found, f"{kind} is not among {kinds(campaign)}"
    return found[0]


def facts(**of_database: Any) -> Change:
    def change(record: Record) -> Record:
        database = {**record.facts["database"], **of_database}
        return replace(record, facts={**record.facts, "database": database})

    return change


def figures(*figures: Measurement) -> Change:
    """Later figures of a record win over earlier ones of the same name."""

    def change(record: Record) -> Record:
        new = {(m.metric, m.scope) for m in figures}
        kept = tuple(m for m in record.measurements if (m.metric, m.scope) not in new)
        return replace(record, measurements=(*kept, *figures))

    return change


def test_a_sound_campaign_raises_none() -> None:
    assert doubts.find(small()) == ()


# ------------------------------------------------------------------ about the campaign


def test_one_repetition_of_everything() -> None:
    found = the("one repetition", small(repetitions=1))
    assert "every cell was measured once" in found.text
    assert found.advice == "repeat with REPEATS=5"
    assert found.run is None


def test_one_repetition_left_of_several() -> None:
    found = the("one repetition", small(repetitions=3, failed=[1, 3]))
    assert "only one repetition finished of premium × point-select" in found.text


def test_a_missing_cell() -> None:
    found = the("missing cell", small(failed=[1, 2]))
    assert "premium × point-select has no finished run" in found.text


@pytest.mark.parametrize("enforcement", ["emulated", "cgroup", "none"])
def test_disks_that_are_not_the_provider_s(enforcement: Any) -> None:
    campaign = small(repetitions=2)
    tier = replace(campaign.plan.profiles[0].tier, enforcement=enforcement)
    profile = replace(campaign.plan.profiles[0], tier=tier)
    campaign = replace(campaign, plan=replace(campaign.plan, profiles=(profile,)))
    assert kinds(campaign) == {f"{enforcement} tier"}


def test_disks_held_to_their_limits_in_different_ways() -> None:
    campaign = build_campaign(workloads=["insert"], nodes=1, frames=False)
    first = replace(
        campaign.plan.profiles[0],
        tier=replace(campaign.plan.profiles[0].tier, enforcement="mounted"),
    )
    plan = replace(campaign.plan, profiles=(first, *campaign.plan.profiles[1:]))
    assert {"unlike disks", "emulated tier"} <= kinds(replace(campaign, plan=plan))


def test_a_vm_below_its_disk() -> None:
    campaign = small()
    cap = "IOPS: the VM lets through 12,800 of the 20,000 that the disks could give"
    capped = tuple(
        replace(profile, tier=replace(profile.tier, vm_caps=(cap,)))
        for profile in campaign.plan.profiles
    )
    campaign = replace(campaign, plan=replace(campaign.plan, profiles=capped))
    assert the("VM caps the disk", campaign).text == f"premium: {cap}"
    assert "a larger VM" in the("VM caps the disk", campaign).advice


def test_fewer_nodes_than_declared() -> None:
    note = "premium: 1 database node instead of the profile's 3 (this machine has 2 cores)"
    assert the("fewer nodes", small(notes=(note,))).text == note
    assert "set NODES" in the("fewer nodes", small(notes=(note,))).advice
    asked = note.replace("this machine has 2 cores", "as asked")
    assert "leave NODES out" in the("fewer nodes", small(notes=(asked,))).advice
    assert "fewer nodes" not in kinds(small(notes=("some other remark",)))


def test_unlike_runs() -> None:
    def other_version(record: Record) -> Record:
        return facts(version="16.4")(record) if record.run.number == 2 else record

    found = the("unlike runs", small(profiles=["premium", "ultra"], change=other_version))
    assert "running database's version 17.2 against 16.4" in found.text


# ------------------------------------------------------------------ about a run


def test_unsteady_throughput_names_run_and_warm_up() -> None:
    found = the("unsteady throughput", small(drift_pct=-30.0, repetitions=2))
    assert found.run == 1
    assert found.text.startswith("throughput drifted by −31.2 % over the measured window")
    assert found.advice == "warm up for longer than 10 s, or measure for longer"


def test_a_short_window() -> None:
    found = the("short window", small(measure_s=20.0))
    assert found.text.startswith("20 s were measured")
    assert "than laptop" in found.advice
    assert "short window" not in kinds(small(measure_s=30.0))


def test_few_checkpoints_matter_to_writing_runs_only() -> None:
    settings = facts(settings={"checkpoint_timeout": "5min"})
    found = the("few checkpoints", small("insert", settings))
    assert "60 s are less than 2 checkpoint intervals of 5 min" in found.text
    assert "few checkpoints" not in kinds(small("point-select", settings))
    assert "few checkpoints" not in kinds(
        small("insert", facts(settings={"checkpoint_timeout": "30s"}))
    )


@pytest.mark.parametrize(("data", "raised"), [(GIB, True), (GIB + 1, False), (0, False)])
def test_data_that_fits_in_the_cache(data: int, raised: bool) -> None:
    campaign = small("point-select", facts(data_bytes=data, cache_bytes=GIB))
    assert ("data fits in the cache" in kinds(campaign)) is raised


@pytest.mark.parametrize(
    ("client_cpu_pct", "cpu_pct", "host_cpu_pct", "expected"),
    [
        (79.0, 20.0, 89.0, set()),
        (81.0, 20.0, 89.0, {"client busy"}),
        (70.0, 60.0, 91.0, {"host saturated"}),
        (10.0, 40.0, 44.0, set()),  # 10 + 40 % of 8 of 32 cores, and 24 of others
        (10.0, 40.0, 46.0, {"machine shared"}),
    ],
)
def test_a_busy_machine(
    client_cpu_pct: float, cpu_pct: float, host_cpu_pct: float, expected: set[str]
) -> None:
    shape = Shape(
        throughput_per_s=1574.0,
        read_iops=900.0,
        write_iops=2.0,
        await_s=0.01,
        cpu_pct=cpu_pct,
        client_cpu_pct=client_cpu_pct,
        host_cpu_pct=host_cpu_pct,
    )
    assert kinds(small(shapes={("premium", "point-select"): shape})) == expected


def test_telemetry_gaps() -> None:
    campaign = small(repetitions=2)
    first = campaign.runs[0]
    table = first.samples[first.samples["metric"] != "cpu_busy_seconds_total"]
    runs = (replace(first, samples=table), *campaign.runs[1:])
    found = the("telemetry gaps", replace(campaign, runs=runs))
    assert (found.run, found.text) == (1, "not sampled over the measured window: host_cpu_pct")


def test_failures_and_retries() -> None:
    some = figures(measured("transactions", 1_980), measured("failures", 20))
    assert "20 failures beside 1,980 transactions" in the("failures", small(change=some)).text
    few = figures(measured("transactions", 1_990), measured("failures", 10))
    assert "failures" not in kinds(small(change=few))
    again = figures(measured("transactions", 2_000), measured("retries", 100))
    assert "retries" in kinds(small(change=again))
    none_done = figures(measured("transactions", 0), measured("failures", 3))
    assert "failures" in kinds(small(change=none_done))


def test_few_transactions_carry_no_p99() -> None:
    few = figures(measured("transactions", 999))
    assert "(1,000 needed)" in the("few transactions", small(change=few)).text


def test_gates_missing_failed_and_old() -> None:
    tier = build_tier("premium")
    assert "no truth gate" in kinds(small(change=lambda r: replace(r, gate=None)))
    failed = build_gate(tier, measured_iops=3_000.0)
    found = the("gate not passed", small(change=lambda r: replace(r, gate=failed)))
    assert "read IOPS slow" in found.text
    old = replace(build_gate(tier), taken_s=build_gate(tier).taken_s - 2 * 86_400)
    found = the("old truth gate", small(change=lambda r: replace(r, gate=old)))
    assert "48.2 h before" in found.text
    assert found.advice == "run `make calibrate PROFILE=premium` first"


@pytest.mark.parametrize(("start_pct", "raised"), [(100.0, True), (0.0, False)])
def test_burst_credit_left(start_pct: float, raised: bool) -> None:
    def change(record: Record) -> Record:
        burst = Burst(iops=3_500, bytes_per_s=None, duration_s=1_800.0, start_pct=start_pct)
        tier = replace(record.profile.tier, burst=burst)
        return replace(record, profile=replace(record.profile, tier=tier))

    assert ("burst credit left" in kinds(small(change=change))) is raised


def test_little_s_law() -> None:
    off = figures(measured("throughput_per_s", 1_000.0), measured("latency_avg_s", 0.05))
    found = the("Little's law", small(change=off))
    assert found.text == (
        "throughput × latency = 50.0 transactions in flight, with 60 threads (−16.7 %)"
    )


@pytest.mark.parametrize("options", [{"think": "spec"}, {"arrival_rate": 100}])
def test_little_s_law_is_not_asked_of_threads_that_pause(options: Mapping[str, Any]) -> None:
    def change(record: Record) -> Record:
        off = figures(measured("latency_avg_s", 0.001))(record)
        return replace(off, workload=replace(off.workload, options=options))

    assert "Little's law" not in kinds(small(change=change))


def test_think_time_s_ceiling() -> None:
    def change(record: Record) -> Record:
        thinking = replace(record.workload, options={"think": "spec"})
        return figures(measured("nopm", 250.0))(replace(record, workload=thinking))

    found = the("think time's ceiling", small("tpcc", change))  # 20 warehouses: 257.2
    assert "97.2 % of the 257 New-Orders a minute" in found.text


@pytest.mark.parametrize(
    ("own", "raised"), [(100_000, False), (99_000, True), (99_950, False), (99_600, False)]
)
def test_totals_that_differ(own: int, raised: bool) -> None:
    generator = {
        "sysbench_transactions": own,
        "recorded_transactions": 100_000,
        "recorded_failures": 0,
    }
    campaign = small(change=lambda r: replace(r, facts={**r.facts, "generator": generator}))
    assert ("totals differ" in kinds(campaign)) is raised


def test_totals_may_leave_out_failures() -> None:
    generator = {
        "sysbench_transactions": 90_000,
        "recorded_transactions": 100_000,
        "recorded_failures": 10_000,
    }
    campaign = small(change=lambda r: replace(r, facts={**r.facts, "generator": generator}))
    assert "totals differ" not in kinds(campaign)


def test_commits_that_are_not_durable() -> None:
    assert "commits not durable" in kinds(small(change=facts(durable=False)))


def test_doubts_that_runs_recorded_are_kept_and_failed_runs_are_not_examined() -> None:
    own = Doubt("sampler", "lost a second", "none", 1)
    campaign = small(
        failed=[1], measure_s=20.0, change=lambda r: replace(r, doubts=(own,)), repetitions=3
    )
    found = doubts.find(campaign)
    assert own in found
    assert {d.run for d in found if d.kind == "short window"} == {2, 3}


def test_without_tables_nothing_breaks() -> None:
    assert kinds(small(frames=False)) == {"telemetry gaps"}


# ------------------------------------------------------------------ likeness


def record() -> Record:
    return build_campaign(repetitions=1, frames=False).runs[0].record


def clustered(**changes: Any) -> Record:
    cluster: ClusterSpec = replace(record().profile.cluster, **changes)
    return replace(record(), profile=replace(record().profile, cluster=cluster))


@pytest.mark.parametrize(
    ("other", "phrase"),
    [
        (lambda: clustered(database="yugabytedb"), "database postgresql against yugabytedb"),
        (lambda: clustered(nodes=1), "number of nodes 3 against 1"),
        (lambda: clustered(replication_factor=1), "replication factor 3 against 1"),
        (lambda: clustered(node=NodeSize(4.0, GIB, 250 * GIB)), "CPUs per node 8.0 against 4.0"),
        (
            lambda: clustered(node=NodeSize(8.0, 2 * GIB, 250 * GIB)),
            "memory per node 1 GiB against 2 GiB",
        ),
        (lambda: clustered(settings={"jit": "on"}), "setting jit not given against on"),
        (
            lambda: replace(record(), workload=replace(record().workload, threads=8)),
            "workload's threads 60 against 8",
        ),
        (
            lambda: facts(durability={"fsync": "off", "synchronous_commit": "on"})(record()),
            "running database's durability.fsync on against off",
        ),
        (
            lambda: replace(
                record(), facts={**record().facts, "database_before": {"data_bytes": 5 * GIB}}
            ),
            "data before the run 6 GiB against 5 GiB",
        ),
    ],
)
def test_what_makes_runs_unlike(other: Callable[[], Record], phrase: str) -> None:
    assert phrase in likeness.differences(record(), other())


def test_the_tier_and_the_size_of_its_disk_may_differ() -> None:
    tier = build_tier("ultra")
    disk = NodeSize(8.0, GIB, 1_000 * GIB)
    other = clustered(node=disk)
    other = replace(other, profile=replace(other.profile, name="ultra", tier=tier))
    grown = facts(data_bytes=7 * GIB, since_reset={"xact_commit": 5})(other)
    assert likeness.differences(record(), grown) == ()

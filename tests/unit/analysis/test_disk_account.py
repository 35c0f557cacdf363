"""What a disk counted itself stands beside the cause, and outranks what is inferred."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from orchestrator.analysis.telemetry.causes import bottlenecks, disk_account, node_cause
from orchestrator.analysis.telemetry.use.node_values import Evidence, of_figures
from orchestrator.tier import VmCap
from tests.campaign_tables import Shape, held, sampled_in
from tests.campaigns import build_campaign, build_tier
from tests.counted_disks import of_disk
from tests.tiers import changed

TIER = build_tier("premium")
QUIET: Mapping[str, float] = {
    "iops_of_cap_pct": 40.0,
    "bandwidth_of_cap_pct": 20.0,
    "disk_iops": 440.0,
    "disk_await_s": 0.0022,
    "idle_disk_latency_s": 0.002,
    "disk_queue_depth": 1.0,
    "cpu_pct": 50.0,
}
AT_CAP = {"iops_of_cap_pct": 99.0, "time_at_iops_cap_pct": 71.0, "disk_await_s": 0.015}
# At its cap, and yet no I/O seems to wait: each takes as long as on the idle disk.
UNQUEUED = {**AT_CAP, "disk_await_s": 0.0021, "disk_queue_depth": 0.5}


def values(**figures: float) -> Evidence:
    return of_figures(dict(**{**QUIET, **figures}))


@pytest.mark.parametrize(
    ("figures", "held_back_pct", "cause"),
    [
        (UNQUEUED, None, "unattributed"),
        (UNQUEUED, 19.9, "unattributed"),  # then what is inferred decides
        (UNQUEUED, 20.0, "iops_cap"),
        (AT_CAP, None, "iops_cap"),
        (AT_CAP, 10.0, "iops_cap"),
        (AT_CAP, 9.9, "unattributed"),
    ],
)
def test_whether_a_cap_binds_is_for_the_disk_to_say(
    figures: Mapping[str, float], held_back_pct: float | None, cause: str
) -> None:
    known = dict(figures)
    if held_back_pct is not None:
        known["held_back_pct"] = held_back_pct
    assert node_cause.judge(values(**known), TIER, "node-1").name == cause


def test_what_the_disk_counted_is_in_the_text_of_a_bottleneck() -> None:
    named = bottlenecks.bottleneck([of_disk(126.0, 293.0)], None)
    assert named is not None
    counted = "The disk counted that its limits held I/Os back for 43 % of their time."
    assert counted in named.text
    without = bottlenecks.bottleneck([of_disk(0, 0)], None)
    assert without is not None and "The disk counted" not in without.text


def without_begin(server: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"end": server["end"]}


def started_anew(server: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its server counts from 0 again, and had answered for a longer time before."""
    return {**server, "end": {"read": {"waited_s": 1.0, "took_s": 12.0}, "write": {}}}


@pytest.mark.parametrize("broken", [without_begin, started_anew])
def test_a_count_without_its_begin_tells_nothing_of_the_window(
    broken: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> None:
    run = of_disk(126.0, 293.0)
    disks = {}
    for name, server in run.record.facts["disks"].items():
        disks[name] = broken(server)
    facts = {**run.record.facts, "disks": disks}
    run = replace(run, record=replace(run.record, facts=facts))
    named = bottlenecks.bottleneck([run], None)
    assert named is not None
    assert "held_back_pct" not in named.evidence
    assert "disk counted" not in named.text


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ({"held_back_pct": 60.0}, "used 40 % of a cap: I/Os came in bursts."),
        ({"held_back_pct": 10.0}, "used 40 % of a cap: I/Os came in bursts."),
        (
            {"iops_of_cap_pct": 94.9, "held_back_pct": 60.0},
            "used 95 % of a cap: I/Os came in bursts.",
        ),
        (
            {"iops_of_cap_pct": 95.0, "held_back_pct": 60.0},
            "held I/Os back for 60 % of their time.",
        ),
        (
            {"iops_of_cap_pct": 95.0, "held_back_pct": 2.0},
            "for 2 % of their time. So no cap is named.",
        ),
        ({**AT_CAP, "held_back_pct": 60.0}, "held I/Os back for 60 % of their time."),
        ({**AT_CAP, "held_back_pct": 104.0}, "held I/Os back for 100 % of their time."),
        (
            {**AT_CAP, "held_back_pct": 60.0, "time_held_back_pct": 8.0},
            "held I/Os back for 60 % of their time, in 8 % of the seconds.",
        ),
        (
            {**AT_CAP, "held_back_pct": 2.0},
            "for 2 % of their time. So no cap is named.",
        ),
    ],
)
def test_where_both_disagree_the_remark_says_so(
    figures: Mapping[str, float], text: str
) -> None:
    assert disk_account.remark(values(**figures), "unattributed").endswith(text)


@pytest.mark.parametrize(
    "figures",
    [
        {},
        AT_CAP,
        {"held_back_pct": 9.9},
        {"iops_of_cap_pct": 94.9, "held_back_pct": 2.0},
    ],
)
def test_where_there_is_nothing_to_add_there_is_no_remark(
    figures: Mapping[str, float],
) -> None:
    assert disk_account.remark(values(**figures), "iops_cap") == ""


def test_a_slow_host_says_itself_what_the_limits_kept() -> None:
    assert disk_account.remark(values(held_back_pct=40.0), "machine_bound") == ""


# ------------------------------------------------------------------ EBS volumes

VM_CAP = (VmCap("IOPS", "the machine lets through less"),)


def exceeded(
    volume_pct: float, instance_pct: float, cap: str = "iops"
) -> dict[str, float]:
    """By an EBS volume's count; of the other cap it counts nothing."""
    other = {"iops": "bandwidth", "bandwidth": "iops"}[cap]
    return {
        f"volume_{cap}_exceeded_pct": volume_pct,
        f"instance_{cap}_exceeded_pct": instance_pct,
        f"volume_{other}_exceeded_pct": 0.0,
        f"instance_{other}_exceeded_pct": 0.0,
    }


@pytest.mark.parametrize(
    ("figures", "counted", "cause"),
    [
        (AT_CAP, exceeded(9.9, 9.9), "unattributed"),
        (AT_CAP, exceeded(10.0, 0.0), "iops_cap"),
        # Of the other cap: demand for this one was below its limit.
        (AT_CAP, exceeded(90.0, 0.0, "bandwidth"), "unattributed"),
        # Then what is inferred decides.
        (UNQUEUED, exceeded(19.9, 0.0), "unattributed"),
        (UNQUEUED, exceeded(20.0, 0.0), "iops_cap"),
        # The machine's limit, which nobody declared.
        (UNQUEUED, exceeded(9.9, 20.0), "vm_cap"),
        (UNQUEUED, exceeded(10.0, 20.0), "iops_cap"),
        (AT_CAP, exceeded(0.0, 19.9), "iops_cap"),
        # It reaches no declared cap: what it counted is a remark.
        ({}, exceeded(90.0, 0.0), "unattributed"),
        # But for the machine's, which is lower than any that was declared.
        ({}, exceeded(0.0, 50.0), "vm_cap"),
        ({}, exceeded(0.0, 50.0, "bandwidth"), "vm_cap"),
        # Nothing else is named: then a quarter of the time is enough.
        ({}, exceeded(0.0, 25.0), "vm_cap"),
        ({}, exceeded(0.0, 24.9), "unattributed"),
        ({"cpu_pct": 99.0}, exceeded(0.0, 49.9), "cpu_bound"),
        ({"cpu_pct": 60.0}, exceeded(0.0, 50.0), "vm_cap"),
        ({}, exceeded(10.0, 90.0), "unattributed"),
    ],
)
def test_whose_limit_binds_is_for_an_ebs_volume_to_say(
    figures: Mapping[str, float], counted: Mapping[str, float], cause: str
) -> None:
    judged = node_cause.judge(values(**figures, **counted), TIER, "node-1")
    assert judged.name == cause


@pytest.mark.parametrize(
    ("counted", "cause"),
    [
        (exceeded(20.0, 9.9), "iops_cap"),
        (exceeded(20.0, 10.0), "vm_cap"),
        (exceeded(20.0, 20.0), "vm_cap"),
        (exceeded(0.0, 20.0), "vm_cap"),
    ],
)
def test_the_machines_declared_limit_yields_to_the_volumes_count_alone(
    counted: Mapping[str, float], cause: str
) -> None:
    tier = changed(TIER, vm_caps=VM_CAP)
    judged = node_cause.judge(values(**AT_CAP, **counted), tier, "node-1")
    assert judged.name == cause


def test_the_machines_limit_is_named_with_its_source() -> None:
    counted = values(**AT_CAP, **exceeded(0.0, 60.0))
    text = node_cause.judge(counted, TIER, "node-1").text
    assert (
        "the machine's limit (IOPS, by the volume's counts): a larger machine" in text
    )


def test_what_a_machine_lets_through_is_measured() -> None:
    """The disk was below its own cap all the time, and held back."""
    judged = node_cause.judge(values(**exceeded(0.0, 72.0)), TIER, "node-1")
    assert judged.text.startswith(
        "The machine of node-1 held its disk back: by the volume's counts its IOPS limit was "
        "exceeded 72 % of the time (440 IOPS)."
    )
    assert "A larger machine would help" in judged.text


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (
            {**AT_CAP, **exceeded(60.0, 10.0)},
            " By the volume's counts demand was above the volume's IOPS for 60 % and the "
            "machine's IOPS for 10 % of the time.",
        ),
        (
            {"iops_of_cap_pct": 95.0, **exceeded(10.0, 9.9)},
            " By the volume's counts demand was above the volume's IOPS for 10 % of the time.",
        ),
        (
            {"iops_of_cap_pct": 95.0, **exceeded(2.0, 0.0)},
            " Its disk used 95 % of a cap in the median second. By the volume's counts "
            "demand was above a limit for 2 % of the time: no cap is named.",
        ),
        ({"iops_of_cap_pct": 94.9, **exceeded(2.0, 0.0)}, ""),
        (
            {"wal_bandwidth_limit_reached_pct": 104.0},
            " By its provider's report demand on the WAL's own disk was above its bandwidth for "
            "100 % of the time.",
        ),
        (
            {
                "wal_iops_limit_reached_pct": 10.0,
                "wal_bandwidth_limit_reached_pct": 9.9,
            },
            " By its provider's report demand on the WAL's own disk was above its IOPS for 10 % "
            "of the time.",
        ),
        (
            exceeded(0.0, 104.0, "bandwidth"),
            " By the volume's counts demand was above the machine's bandwidth for 100 % of the "
            "time. Its median second used 40 % of a cap: I/Os came in bursts, or the "
            "limit is below the one declared.",
        ),
        (
            {**AT_CAP, **exceeded(2.0, 0.0)},
            " Its disk used 99 % of a cap in the median second. By the volume's counts "
            "demand was above a limit for 2 % of the time: no cap is named.",
        ),
        (exceeded(9.9, 9.9), ""),
    ],
)
def test_what_an_ebs_volume_counted_is_a_remark(
    figures: Mapping[str, float], text: str
) -> None:
    assert disk_account.remark(values(**figures), "unattributed") == text


@pytest.mark.parametrize("lacking", ["volume", "instance"])
def test_one_owner_alone_does_not_say_that_nothing_was_held_back(lacking: str) -> None:
    """The other's count may have been lost, and be the one that held I/Os back."""
    counted = exceeded(0.0, 0.0)
    del counted[f"{lacking}_iops_exceeded_pct"]
    judged = node_cause.judge(values(**AT_CAP, **counted), TIER, "node-1")
    assert judged.name == "iops_cap"


def test_without_declared_caps_the_remark_compares_nothing() -> None:
    uncapped = of_figures(dict(**exceeded(60.0, 0.0)))
    assert disk_account.remark(uncapped, "unattributed").endswith("60 % of the time.")


def test_samples_of_an_ebs_volume_become_shares_of_the_window() -> None:
    shape = Shape(184.0, 916.0, 184.0, await_s=0.015, cpu_pct=26.0)
    (run,) = build_campaign(
        profiles=("premium",),
        workloads=("insert",),
        repetitions=1,
        shapes={("premium", "insert"): shape},
    ).runs
    samples = sampled_in(run)
    counted = [samples]
    rates = {
        "volume_iops": 0.04,
        "volume_bandwidth": 0.0,
        "instance_iops": 0.6,
        "instance_bandwidth": 0.0,
    }
    reads = samples[samples["metric"] == "disk_reads_total"]
    for limit, seconds_per_s in rates.items():
        grown_s = seconds_per_s * reads["time_s"]
        metric = f"ebs_{limit}_exceeded_seconds_total"
        counted.append(reads.assign(metric=metric, unit="s", value=grown_s))
    table = pd.concat(counted, ignore_index=True)
    named = bottlenecks.bottleneck([replace(run, sampled=held(table))], None)
    assert named is not None
    assert named.verdict == "vm_cap"
    assert named.evidence["volume_iops_exceeded_pct"] == pytest.approx(4.0)
    assert named.evidence["instance_iops_exceeded_pct"] == pytest.approx(60.0)
    assert "above the machine's IOPS for 60 % of the time." in named.text


# ------------------------------------------------------------------ what a provider reports

WAITING = {"disk_await_s": 0.006}


def reported(disk_pct: float, machine_pct: float) -> dict[str, float]:
    """By a provider's minutes, of IOPS; of bandwidth it reports no minute at a limit."""
    return {
        "disk_iops_limit_reached_pct": disk_pct,
        "machine_iops_limit_reached_pct": machine_pct,
        "disk_bandwidth_limit_reached_pct": 0.0,
        "machine_bandwidth_limit_reached_pct": 0.0,
    }


@pytest.mark.parametrize(
    ("figures", "minutes", "cause"),
    [
        (WAITING, reported(0.0, 60.0), "vm_cap"),
        # All disks of the machine count: this one's I/Os take as long as on the idle disk.
        ({}, reported(0.0, 60.0), "unattributed"),
        ({"disk_await_s": 0.00249}, reported(0.0, 60.0), "unattributed"),
        ({"disk_await_s": 0.0025}, reported(0.0, 60.0), "vm_cap"),
        ({"idle_disk_latency_s": 0.0}, reported(0.0, 60.0), "unattributed"),
        (
            {"idle_disk_latency_s": 0.0, "disk_queue_depth": 2.0},
            reported(0.0, 60.0),
            "vm_cap",
        ),
        # Whose limit it was is not known.
        (WAITING, reported(60.0, 60.0), "unattributed"),
        # Below the declared cap its own limit is the cause, as of the WAL's disk.
        ({}, reported(50.0, 0.0), "iops_cap"),
        ({}, {"disk_iops_limit_reached_pct": 100.0}, "iops_cap"),
        ({}, {"disk_bandwidth_limit_reached_pct": 100.0}, "bandwidth_cap"),
        ({}, reported(100.0, 60.0), "iops_cap"),
        ({}, reported(25.0, 0.0), "iops_cap"),
        ({}, reported(24.9, 0.0), "unattributed"),
        (
            {},
            {**reported(100.0, 0.0), "disk_bandwidth_limit_reached_pct": 100.0},
            "unattributed",
        ),
        (
            {"cpu_pct": 80.0},
            {**reported(100.0, 0.0), "wal_iops_limit_reached_pct": 100.0},
            "unattributed",
        ),
        (UNQUEUED, reported(20.0, 0.0), "iops_cap"),
        (UNQUEUED, reported(19.9, 0.0), "unattributed"),
        # Minutes below the limit may have had seconds at it.
        (AT_CAP, reported(0.0, 0.0), "iops_cap"),
        # What the volume counts itself comes first.
        ({**AT_CAP, **exceeded(0.0, 0.0)}, reported(60.0, 0.0), "unattributed"),
        ({**WAITING, **exceeded(0.0, 0.0)}, reported(0.0, 60.0), "unattributed"),
        ({**AT_CAP, "held_back_pct": 2.0}, reported(60.0, 0.0), "unattributed"),
    ],
)
def test_what_a_provider_reports_confirms_and_denies_nothing(
    figures: Mapping[str, float], minutes: Mapping[str, float], cause: str
) -> None:
    judged = node_cause.judge(
        of_figures({**QUIET, **figures, **minutes}), TIER, "node-1"
    )
    assert judged.name == cause


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (
            reported(0.0, 60.0),
            " By its provider's report demand was above the machine's IOPS for 60 % of the time. "
            "Its median second used 40 % of a cap: I/Os came in bursts, or the limit is below the "
            "one declared.",
        ),
        (
            {**AT_CAP, **reported(0.0, 0.0)},
            " Its disk used 99 % of a cap in the median second. By its provider's report demand "
            "was above a limit for 0 % of the time: the declared limit may be below the real one.",
        ),
        (reported(0.0, 0.0), ""),
    ],
)
def test_what_a_provider_reports_is_a_remark(
    figures: Mapping[str, float], text: str
) -> None:
    assert disk_account.remark(values(**figures), "unattributed") == text


# ------------------------------------------------------------------ beside something as full

FULL_CPU = {"cpu_pct": 97.0}
# Sessions that wait for the disk's reads, and some for CPU.
READING: Mapping[str, float] = {
    "sessions": 16.0,
    "seen_reading_pct": 60.0,
    "seen_running_pct": 40.0,
    "node_cores": 1.9,
    "disk_await_s": 0.02,
    "disk_queue_depth": 9.6,
    "disk_bytes_per_s": 25e6,
    "disk_read_iops": 100.0,
    "disk_read_bytes_per_s": 6e6,
}


@pytest.mark.parametrize(
    ("minutes", "share"),
    [
        (
            reported(80.0, 0.0),
            "by its provider's report the disk was held back 80 % of the time (at 40 % of its "
            "declared cap)",
        ),
        (
            exceeded(0.0, 72.0),
            "by the volume's counts the disk was held back 72 % of the time (at 40 % of its "
            "declared cap)",
        ),
        (AT_CAP, "the disk at 99 % of its cap"),
        (
            reported(104.0, 0.0),
            "by its provider's report the disk was held back 100 % of the time (at 40 % of its "
            "declared cap)",
        ),
        (
            {"iops_of_cap_pct": 95.0, **reported(80.0, 0.0)},
            "the disk at 95 % of its cap",
        ),
    ],
)
def test_beside_a_full_cpu_the_text_says_which_limit_the_disk_was_at(
    minutes: Mapping[str, float], share: str
) -> None:
    judged = node_cause.judge(values(**minutes, **FULL_CPU), TIER, "node-1")
    assert judged.name == "unattributed"
    assert f"cannot be told apart: {share}, the node's CPU 97 % busy" in judged.text


def test_without_a_declared_cap_no_share_of_it_is_told() -> None:
    uncapped = {**QUIET, **reported(80.0, 0.0), **FULL_CPU}
    del uncapped["iops_of_cap_pct"]
    del uncapped["bandwidth_of_cap_pct"]
    text = node_cause.judge(of_figures(uncapped), TIER, "node-1").text
    assert "held back 80 % of the time, the node's CPU" in text


def test_sessions_that_wait_for_a_reported_limit_are_not_blamed_on_the_cpu() -> None:
    """A limit that is reached is full, at whatever share of the declared cap it lies."""
    beside = values(**READING, **FULL_CPU, **reported(80.0, 0.0))
    judged = node_cause.judge(beside, TIER, "node-1")
    assert judged.name == "iops_cap"
    assert "as its provider reports" in judged.text


def test_sessions_follow_the_cap_that_is_reported_not_the_one_that_looks_fuller() -> (
    None
):
    minutes = {
        "disk_iops_limit_reached_pct": 0.0,
        "disk_bandwidth_limit_reached_pct": 80.0,
        "machine_iops_limit_reached_pct": 0.0,
        "machine_bandwidth_limit_reached_pct": 0.0,
    }
    beside = values(**READING, **FULL_CPU, **minutes)
    assert node_cause.judge(beside, TIER, "node-1").name == "bandwidth_cap"


def test_both_limits_of_a_machine_are_not_limits_of_the_disk() -> None:
    counted = exceeded(0.0, 72.0)
    counted["instance_bandwidth_exceeded_pct"] = 60.0
    judged = node_cause.judge(values(**counted), TIER, "node-1")
    assert judged.name == "vm_cap"
    assert "The disk is the limit" not in judged.text
    assert "IOPS and bandwidth are both at this limit" in judged.text


def test_a_reported_limit_beside_a_full_cap_has_both_shares() -> None:
    minutes = {**reported(10.0, 0.0), "disk_bandwidth_limit_reached_pct": 80.0}
    judged = node_cause.judge(values(**AT_CAP, **minutes), TIER, "node-1")
    assert judged.name == "unattributed"
    shares = "(99 % and 20 %, and as reported at a limit 80 % of the time)"
    assert shares in judged.text
    assert "The disk is the limit. Only a tier that raises both" in judged.text


def test_the_time_for_which_a_reported_limit_held_is_the_reported_one() -> None:
    reported_iops = values(**reported(80.0, 0.0), time_at_iops_cap_pct=3.0)
    assert bottlenecks.held_pct("iops_cap", reported_iops) == 80.0
    of_machine = values(**exceeded(0.0, 72.0), time_at_iops_cap_pct=3.0)
    assert bottlenecks.held_pct("vm_cap", of_machine) == 72.0

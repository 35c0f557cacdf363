"""What can be known of a real disk's burst credit, and what is made of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.doubts import burst_checks
from orchestrator.analysis.telemetry.counters.counter_series import Key, Steps
from orchestrator.analysis.telemetry.use import (
    all_nodes,
    disk_cap_use,
    disk_seconds,
    idle_disk,
)
from orchestrator.analysis.telemetry.use.disk_seconds import demand
from orchestrator.facts import GateQuantity, GateWord
from orchestrator.metrics import SAMPLE_COLUMNS
from orchestrator.model import Node, Sample
from orchestrator.run.disks import credit_buckets
from orchestrator.run.disks.credit import BurstCredit
from orchestrator.run.disks.credit_buckets import Bucket, Seen
from orchestrator.tier import Burst, Gate, GateCheck, Tier
from tests.campaign_tables import rates_of, sampled_in
from tests.campaigns import START_S, build_campaign, build_tier
from tests.doubted import phrases
from tests.fakes import fake_world
from tests.tiers import a_tier, changed

# Azure P15: 1,100 to 3,500 IOPS, 125 to 170 MB/s, a full bucket lasts 30 min.
P15 = a_tier(
    *("p15", "P15", "mounted", 1_100, 125_000_000),
    burst=Burst(3_500, 170_000_000, 1_800.0, 0.0),
)
TIER = build_tier("premium")


def full(least: float, most: float) -> Bucket:
    """A bucket of 1,000 I/Os at a base of 10 and a peak of 20 a second."""
    return Bucket(10.0, 20.0, 1_000.0, least, most, bursting=False)


def test_nothing_is_known_of_a_disk_that_was_just_attached() -> None:
    buckets = credit_buckets.unknown(P15)
    assert buckets["iops"].size == 2_400 * 1_800
    assert buckets["bytes"].size == 45_000_000 * 1_800
    assert {bucket.state for bucket in buckets.values()} == {"unknown"}
    assert {bucket.least for bucket in buckets.values()} == {0.0}
    assert all(bucket.most == bucket.size for bucket in buckets.values())
    assert credit_buckets.unknown(changed(P15, enforcement="emulated")) == {}
    assert credit_buckets.unknown(changed(P15, burst=None)) == {}
    # A peak that is the base holds no credit.
    flat = changed(P15, burst=Burst(1_100, 170_000_000, 1_800.0, 0.0))
    assert set(credit_buckets.unknown(flat)) == {"bytes"}


@pytest.mark.parametrize(
    ("used", "seconds", "bounds", "state"),
    [
        (0.0, 100.0, (1_000.0, 1_000.0), "bursting"),  # idle for bucket ÷ base: full
        (0.0, 4.0, (40.0, 1_000.0), "unknown"),
        (2_000.0, 100.0, (0.0, 0.0), "at base"),  # what a full bucket holds was used
        (1_500.0, 100.0, (0.0, 500.0), "unknown"),
        (10.0, 1.0, (0.0, 1_000.0), "unknown"),  # at the base rate nothing changes
    ],
)
def test_bounds_follow_what_was_seen(
    used: float, seconds: float, bounds: tuple[float, float], state: str
) -> None:
    bucket = full(0.0, 1_000.0).after(used, seconds)
    assert ((bucket.least, bucket.most), bucket.state) == (bounds, state)


@pytest.mark.parametrize(
    ("used", "state"),
    [
        # 51 of 1,000 are left, and then 100 at most.
        (1_949.0, "bursting"),
        # 50 are next to nothing: what has come since may or may not be credit.
        (1_950.0, "unknown"),
        (1_990.0, "unknown"),
    ],
)
def test_a_burst_is_forgotten_when_next_to_nothing_can_be_left(
    used: float, state: str
) -> None:
    seen = replace(full(0.0, 1_000.0), bursting=True).after(used, 100.0)
    assert seen.after(0.0, 4.9).state == state


@pytest.mark.parametrize(
    ("bounds", "state"),
    [
        ((0.0, 50.0), "at base"),
        ((0.0, 50.1), "unknown"),
        ((50.0, 1_000.0), "unknown"),
        ((50.1, 1_000.0), "bursting"),
    ],
)
def test_a_twentieth_of_a_bucket_is_next_to_nothing(
    bounds: tuple[float, float], state: str
) -> None:
    assert full(*bounds).state == state


def gate(word: GateWord, declared: float = 1_100.0) -> Gate:
    quantities: tuple[GateQuantity, ...] = ("iops_read", "iops_write", "iops_mixed")
    checks = [
        GateCheck(name, "1/s", declared, 1.0, 5.0, word, name) for name in quantities
    ]
    checked_s = dict.fromkeys(quantities, 990.0)
    return Gate(
        "p15", 1_000.0, tuple(checks), {"device": "sdb", "checked_s": checked_s}
    )


def checks_of(disk_key: str) -> list[GateCheck]:
    """Those of a disk at its base, whose title does not have its key."""
    checks: list[GateCheck] = []
    for check in gate("ok").checks:
        checks.append(replace(check, disk="the disk of node-2", disk_key=disk_key))
    return checks


@pytest.mark.parametrize(
    ("taken", "state"),
    [
        (gate("ok"), "at base"),
        (gate("bursting"), "bursting"),
        (gate("not reachable"), "unknown"),
        # Another limit held it below the base, which shows at 99 % of it.
        (gate("ok", declared=1_089.0), "at base"),
        (gate("ok", declared=1_088.0), "unknown"),
        (Gate("p15", 0.0, ()), "unknown"),
    ],
)
def test_what_a_gate_says_of_the_credit(taken: Gate, state: str) -> None:
    found = credit_buckets.by_gate(credit_buckets.unknown(P15), taken, "vm", "sdb")
    assert found["iops"].state == state
    assert found["bytes"].state == "unknown"
    if state == "at base":
        assert found["iops"].most == 10 * 1_100, "earned in the rest of the gate"


def test_a_burst_that_a_gate_saw_ends_when_all_can_be_used_up() -> None:
    bucket = replace(full(0.0, 1_000.0), bursting=True)
    assert bucket.after(1_500.0, 100.0).state == "bursting"
    assert bucket.after(1_990.0, 100.0).state == "at base"


def test_credit_that_ran_out_while_the_gate_was_taken_is_gone() -> None:
    first, *rest = gate("ok").checks
    taken = replace(gate("ok"), checks=(replace(first, verdict="bursting"), *rest))
    found = credit_buckets.by_gate(credit_buckets.unknown(P15), taken, "vm", "sdb")
    assert found["iops"].state == "at base"


def test_each_disk_has_its_own_gate() -> None:
    checks = checks_of("/mnt/b")
    disks = {"/mnt/b": gate("ok").device, "/mnt/c": {"device": "sdc"}}
    taken = Gate("p15", 1_000.0, tuple(checks), {"disks": disks})
    states = [
        credit_buckets.by_gate(credit_buckets.unknown(P15), taken, "vm", device)[
            "iops"
        ].state
        for device in ("sdb", "sdc")
    ]
    assert states == ["at base", "unknown"]


def test_disks_of_one_name_on_several_machines_have_gates_of_their_own() -> None:
    checks = checks_of("vm2:/mnt")
    disks = {
        "vm1:/mnt": {"device": "sdb", "machine": "vm1"},
        "vm2:/mnt": {**gate("ok").device, "machine": "vm2"},
    }
    taken = Gate("p15", 1_000.0, tuple(checks), {"disks": disks})
    states = [
        credit_buckets.by_gate(credit_buckets.unknown(P15), taken, machine, "sdb")[
            "iops"
        ].state
        for machine in ("vm1", "vm2")
    ]
    assert states == ["unknown", "at base"]


# ------------------------------------------------------------------ from run to run


def samples(*rows: tuple[float, float]) -> list[Sample]:
    """(time_s, reads so far) of node-1."""
    others = ("disk_writes_total", "disk_read_bytes_total", "disk_written_bytes_total")
    return [
        Sample(time_s, "node-1", metric, "", value)
        for time_s, reads in rows
        for metric, value in (
            ("disk_reads_total", reads),
            *((name, 0.0) for name in others),
        )
    ]


def test_credit_is_followed_through_runs_and_the_time_between() -> None:
    nodes = [Node("node-1", "database", device="sdb"), Node("client", "client")]
    credit = BurstCredit(fake_world())
    credit.checked(P15, gate("ok"))
    first = credit.of_run(
        P15, nodes, samples((1_000, 0), (1_010, 11_000), (1_100, 11_000)), 1_010
    )
    assert first["node-1"]["iops"] == {
        "state": "at base",
        "least_pct": 0.0,
        "most_pct": 0.3,
    }
    # Until the next window it was idle for 90 + 3,000 s at 1,100 a second: 78.7 % of the bucket.
    second = credit.of_run(P15, nodes, samples((4_100, 11_000)), 4_100)
    assert second["node-1"]["iops"] == {
        "state": "bursting",
        "least_pct": 78.7,
        "most_pct": 78.9,
    }
    assert credit.of_run(changed(P15, burst=None), nodes, samples((1, 1)), 2) == {}


def test_a_gate_that_is_taken_again_says_of_each_machine_s_disk_what_it_saw() -> None:
    """Both are called sdb. Before it nothing was known of either."""
    nodes = [
        Node(f"node-{number}", "database", device="sdb", machine=f"vm{number}")
        for number in (1, 2)
    ]
    read = samples((1_000, 0))
    read += [replace(sample, node="node-2") for sample in read]
    credit = BurstCredit(fake_world())
    before = credit.of_run(P15, nodes, read, 1_000)
    assert [before[node.name]["iops"]["state"] for node in nodes] == ["unknown"] * 2
    checks = checks_of("vm2:/mnt")
    disks = {
        "vm1:/mnt": {"device": "sdb", "machine": "vm1"},
        "vm2:/mnt": {**gate("ok").device, "machine": "vm2"},
    }
    credit.checked(P15, Gate("p15", 1_000.0, tuple(checks), {"disks": disks}))
    after = credit.of_run(P15, nodes, read, 1_000)
    states = [after[node.name]["iops"]["state"] for node in nodes]
    assert states == ["unknown", "at base"]


def test_nodes_on_one_disk_have_its_credit_once() -> None:
    nodes = [Node(f"node-{number}", "database", device="sdb") for number in (1, 2)]
    credit = BurstCredit(fake_world())
    credit.checked(P15, gate("ok"))
    found = credit.of_run(P15, nodes, samples((1_000, 0), (1_010, 11_000)), 1_010)
    assert found["node-1"] == found["node-2"]


def test_counters_that_did_not_move_in_time_say_nothing() -> None:
    buckets = credit_buckets.unknown(P15)
    assert (
        credit_buckets.since(buckets, Seen(5.0, 1.0, 1.0), Seen(5.0, 9.0, 9.0))
        == buckets
    )


# ------------------------------------------------------------------ what is made of it


def with_credit(*states: str) -> dict[str, Any]:
    return {
        f"node-{number}": {
            "iops": {"state": state, "least_pct": 0.0, "most_pct": 100.0}
        }
        for number, state in enumerate(states, start=1)
    }


@pytest.mark.parametrize(
    ("left", "right", "compared"),
    [
        (["bursting"], ["at base"], False),
        (["bursting"], ["bursting"], True),
        (["bursting"], ["unknown"], True),  # said, but nothing is known to differ
        (["bursting", "at base"], ["at base", "at base"], True),
        (["bursting"], [], True),  # a disk without burst
    ],
)
def test_runs_that_began_with_unlike_credit_are_not_compared(
    left: list[str], right: list[str], compared: bool
) -> None:
    record = build_campaign(workloads=["insert"], nodes=1, frames=False).runs[0].record
    pair = [
        replace(record, facts={**record.facts, "burst_credit": with_credit(*states)})
        for states in (left, right)
    ]
    unlike = phrases(*pair)
    assert unlike == (
        ()
        if compared
        else ("burst credit for iops at the begin: bursting against at base",)
    )


def test_credit_that_is_not_known_is_doubted() -> None:
    run = build_campaign(workloads=["insert"], nodes=1, frames=False).runs[0]
    facts = {**run.record.facts, "burst_credit": with_credit("at base", "unknown")}
    run = replace(run, record=replace(run.record, facts=facts))
    (doubt,) = burst_checks.credit_unknown(run, all_nodes.Totals())
    text = doubt.text
    assert text.startswith("node-2: burst credit for iops was 0 to 100 % of a full")


@pytest.mark.parametrize("kind", ["mounted", "existing"])
def test_a_real_disk_may_be_at_its_peak_whatever_is_declared_of_its_start(
    kind: str,
) -> None:
    run = build_campaign(profiles=["premium"], workloads=["insert"], nodes=1).runs[0]
    mine = demand(
        changed(P15, enforcement=kind, iops=10),
        rates_of(sampled_in(run)),
        "node-1",
    )
    assert set(mine.in_force["iops"]) == {3_500.0} and mine.credit_pct is None


def test_an_emulated_disks_credit_is_followed_from_what_its_server_said() -> None:
    run = build_campaign(profiles=["premium"], workloads=["insert"], nodes=1).runs[0]
    tier = changed(P15, enforcement="emulated", burst=Burst(10**6, None, 1e6, 100.0))
    at_s = run.record.phases[1].start_s
    begin = {"time_s": at_s, "iops_credit_pct": 50.0}
    mine = demand(tier, rates_of(sampled_in(run)), "node-1", begin)
    before = mine.end_s <= at_s
    assert mine.credit_pct is not None
    assert mine.credit_pct[before] == pytest.approx(100, abs=0.1)
    assert mine.credit_pct[~before] == pytest.approx(50, abs=0.1)


# ------------------------------------------------------------------ emulated buckets, idle disks


def disk_rates(iops: list[float]) -> dict[Key, Steps]:
    total, rows = 0.0, []
    for second, rate in enumerate([0.0, *iops]):
        total += rate
        for metric, value in (
            ("disk_reads_total", total),
            ("disk_writes_total", 0.0),
            ("disk_read_bytes_total", total * 8_192),
            ("disk_written_bytes_total", 0.0),
        ):
            rows.append((START_S + second, "node-1", metric, "", value, "measure"))
    table = pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS))
    return rates_of(table)


def bursting(start_pct: float) -> Tier:
    burst = Burst(iops=3_000, bytes_per_s=None, duration_s=10.0, start_pct=start_pct)
    return changed(TIER, iops=1_000, burst=burst)


def test_credit_drains_by_what_is_above_the_base_and_the_cap_falls_with_it() -> None:
    # a bucket of (3,000 − 1,000) × 10 s = 20,000; at 3,000/s it lasts 10 s
    rates = disk_rates([3_000.0] * 10 + [1_000.0] * 5)
    found = disk_seconds.demand(bursting(100.0), rates, "node-1")
    assert found.in_force["iops"].tolist() == [3_000.0] * 10 + [1_000.0] * 5
    assert found.credit_pct is not None
    assert found.credit_pct[:3].tolist() == [90.0, 80.0, 70.0]
    assert found.credit_pct[-1] == 0.0


def test_a_disk_at_its_base_with_an_empty_bucket_is_at_its_cap() -> None:
    """A second 1 % below the base leaves a drop of credit, which lifts no cap to the peak."""
    wobble = [1_000.0 * (1 + 0.01 * sign) for sign in (-1, 1, -1, -1, 1, 1, 0) * 8]
    found = disk_seconds.demand(
        bursting(100.0), disk_rates([3_000.0] * 10 + wobble), "node-1"
    )
    shares_pct = (100 * found.rates["iops"] / found.in_force["iops"])[10:]
    assert shares_pct.tolist() == pytest.approx([100.0] * len(wobble), abs=2.0)


def test_the_peak_is_the_cap_while_credit_lasts_some_seconds_at_it() -> None:
    rates = disk_rates([3_000.0] * 10 + [0.0] * 20 + [1_500.0] * 2)
    found = disk_seconds.demand(bursting(100.0), rates, "node-1")
    assert (
        found.in_force["iops"][29:].tolist() == [3_000.0] * 3
    )  # 19,000 of 20,000 were earned again
    assert found.in_force["iops"][10:20].tolist() == [1_000.0] * 10


def test_credit_fills_below_the_base() -> None:
    found = disk_seconds.demand(bursting(50.0), disk_rates([0.0] * 4), "node-1")
    assert found.credit_pct is not None
    assert found.credit_pct.tolist() == [55.0, 60.0, 65.0, 70.0]


def test_a_real_disk_has_credit_while_it_is_above_its_base() -> None:
    """How full its bucket is nobody says; "empty" is what an emulated one is asked to be."""
    real = changed(bursting(0.0), enforcement="mounted")
    found = disk_seconds.demand(
        real, disk_rates([3_000.0] * 3 + [1_000.0, 400.0]), "node-1"
    )
    assert found.in_force["iops"].tolist() == [3_000.0] * 3 + [1_000.0] * 2
    assert found.credit_pct is None


@pytest.mark.parametrize(("iops", "cap"), [(1_100.0, 1_000.0), (1_101.0, 3_000.0)])
def test_a_real_disk_that_is_a_tenth_above_its_base_may_be_at_it(
    iops: float, cap: float
) -> None:
    real = changed(bursting(0.0), enforcement="mounted")
    found = disk_seconds.demand(real, disk_rates([iops]), "node-1")
    assert found.in_force["iops"].tolist() == [cap]


def test_a_burst_to_no_more_than_the_base_is_none() -> None:
    burst = Burst(iops=1_000, bytes_per_s=None, duration_s=10.0, start_pct=100.0)
    found = disk_seconds.demand(
        changed(TIER, iops=1_000, burst=burst), disk_rates([500.0]), "node-1"
    )
    assert found.in_force["iops"].tolist() == [1_000.0]
    assert found.credit_pct is None


@pytest.mark.parametrize(("start_pct", "cap"), [(49.9, 1_000.0), (50.0, 3_000.0)])
def test_credit_for_five_seconds_at_the_peak_lifts_the_cap(
    start_pct: float, cap: float
) -> None:
    """A full bucket lasts ten seconds."""
    found = disk_seconds.demand(bursting(start_pct), disk_rates([1_000.0]), "node-1")
    assert found.in_force["iops"].tolist() == [cap]


@pytest.mark.parametrize(("iops", "above_pct"), [(1_020.0, 0.0), (1_021.0, 100.0)])
def test_a_second_that_wobbles_around_the_base_draws_on_no_credit(
    iops: float, above_pct: float
) -> None:
    (run,) = build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, frames=False
    ).runs
    profile = replace(run.record.profile, tier=bursting(100.0))
    record = replace(run.record, profile=profile)
    node = record.nodes[0]
    rates = disk_rates([iops] * 4)
    disk = disk_seconds.of_node(record, rates, node)
    window = (START_S, START_S + 4)
    use = disk_cap_use.against_caps(record, rates, node, window, disk)
    assert use.time_above_base_pct == above_pct


def test_an_assumed_latency_of_a_real_disk_gives_way_to_the_measured_one() -> None:
    check = GateCheck("reading", "s", 2e-3, 9e-4, None, "ok", "latency_read")
    gate = Gate("premium", 0.0, (check,))
    real = changed(TIER, enforcement="mounted", read_latency_s=2e-3)
    assert idle_disk.idle_latency_s(real, gate, 100.0, 0.0) == 2e-3
    assumed = changed(real, latency_assumed=("read", "write"))
    assert idle_disk.idle_latency_s(assumed, gate, 100.0, 0.0) == 9e-4
    emulated = changed(assumed, enforcement="emulated")
    assert idle_disk.idle_latency_s(emulated, gate, 100.0, 0.0) == 2e-3


def test_an_empty_bucket_stays_empty() -> None:
    found = disk_seconds.demand(bursting(0.0), disk_rates([10.0] * 4), "node-1")
    assert found.in_force["iops"].tolist() == [1_000.0] * 4
    assert found.credit_pct is None


def test_a_fall_to_the_base_is_found_and_others_are_not() -> None:
    wobble = np.tile([1.0, -1.0], 15) * 20
    fall = np.where(np.arange(30) < 18, 3_500.0, 1_100.0) + wobble
    assert disk_cap_use.fall_to(fall, 1_100.0) == pytest.approx(
        (3_500.0, 1_100.0), rel=0.01
    )
    assert disk_cap_use.fall_to(fall, 2_000.0) is None  # not to its base
    assert disk_cap_use.fall_to(fall[::-1], 1_100.0) is None  # a rise
    assert disk_cap_use.fall_to(np.full(30, 1_100.0) + wobble, 1_100.0) is None
    assert disk_cap_use.fall_to(fall[:8], 1_100.0) is None  # too short


@pytest.mark.parametrize(
    ("before", "after", "base", "is_fall"),
    [
        # By a fifth at least, to within a tenth of the base.
        ([1_000.0] * 5, [800.0] * 5, 800.0, True),
        ([1_000.0] * 5, [801.0] * 5, 800.0, False),
        ([1_000.0] * 5, [500.0] * 5, 550.0, True),
        ([1_000.0] * 5, [500.0] * 5, 560.0, False),
        ([1_000.0] * 5, [500.0] * 5, 450.0, False),
        # Five seconds on each side.
        ([1_000.0] * 4, [500.0] * 5, 500.0, False),
        # Without a base there is nothing to fall to.
        ([1_000.0] * 5, [500.0] * 5, 0.0, False),
    ],
)
def test_both_sides_of_a_fall_to_the_base(
    before: list[float], after: list[float], base: float, is_fall: bool
) -> None:
    found = disk_cap_use.fall_to(np.array([*before, *after]), base)
    assert found == ((before[0], after[0]) if is_fall else None)


# ------------------------------------------------------------------ the idle disk's latency


def gate_with_read(read_s: float) -> Gate:
    check = GateCheck(
        "reading", "s", None, read_s, None, "not declared", "latency_read"
    )
    return Gate("premium", START_S, (check,))


def test_idle_latency_is_declared_or_as_the_gate_measured() -> None:
    bare = changed(TIER, read_latency_s=None, write_latency_s=0.004)
    assert idle_disk.idle_latency_s(TIER, None, 10, 10) == pytest.approx(0.002)
    assert idle_disk.idle_latency_s(
        bare, gate_with_read(0.001), 30, 10
    ) == pytest.approx(0.00175)
    assert idle_disk.idle_latency_s(bare, None, 30, 10) is None
    assert idle_disk.idle_latency_s(bare, None, 0, 10) == pytest.approx(0.004)
    assert idle_disk.idle_latency_s(TIER, None, 0, 0) is None
    reads = changed(TIER, read_latency_s=0.002, write_latency_s=None)
    assert idle_disk.idle_latency_s(reads, None, 10, 0) == pytest.approx(0.002)
    assert idle_disk.idle_latency_s(reads, None, 10, 1) is None


def test_a_check_that_measured_nothing_hides_no_other() -> None:
    bare = changed(TIER, read_latency_s=None)
    (nothing,) = gate_with_read(0.0).checks
    (measured,) = gate_with_read(0.001).checks
    iops = GateCheck("reading", "1/s", None, 900.0, None, "ok", "iops_read")
    gate = Gate("premium", START_S, (iops, nothing, measured))
    assert idle_disk.idle_latency_s(bare, gate, 10, 0) == pytest.approx(0.001)

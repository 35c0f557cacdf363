"""Doubts about the disks of a run, and what the counters beside it make of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis import disks_of_nodes, results
from orchestrator.analysis.doubts.kinds import DISK_CHECKS
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.model import Doubt, Node, Phase, Record
from orchestrator.tier import Gate, GateCheck
from orchestrator.tiers.common.emulated import host_load
from tests.campaigns import START_S, build_campaign


def found(record: Record) -> dict[str, Doubt]:
    run = build_campaign(workloads=["point-select"], nodes=1).runs[0]
    run = replace(run, record=record)
    return {
        doubt.kind: doubt for check in DISK_CHECKS for doubt in check(run, Totals())
    }


def record(**facts: Any) -> Record:
    made = build_campaign(workloads=["point-select"], nodes=1).runs[0].record
    return replace(made, facts={**made.facts, **facts})


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [("not reachable", "limit not verified"), ("bursting", "bursting disk")],
)
def test_a_gate_that_passed_without_having_seen_all(verdict: Any, kind: str) -> None:
    check = GateCheck("IOPS, 4 KiB random read", "1/s", 20_000, 5_120, None, verdict)
    gate = Gate("ultra", 0.0, (check,))
    assert gate.passed
    assert set(found(replace(record(), gate=gate))) == {kind}
    # A check names its disk where a tier has several.
    named = replace(gate, checks=(replace(check, disk="node-1 (/mnt/b)"),))
    assert "node-1 (/mnt/b)" in found(replace(record(), gate=named))[kind].text
    assert "node-1" not in found(replace(record(), gate=gate))[kind].text
    assert found(record()) == {}


@pytest.mark.parametrize(
    ("restored", "kinds"),
    [
        ({"way": "copy", "quiet": True}, set()),
        ({"way": "copy", "quiet": None}, set()),
        ({"way": "reflink", "quiet": True}, {"shared blocks"}),
        ({"way": "elsewhere", "quiet": False}, {"disk not quiet"}),
        ({"way": "none"}, set()),
        ({"way": "snapshot"}, {"copied volume"}),
        ({"way": "claim"}, {"copied volume"}),
    ],
)
def test_how_data_came_to_a_real_disk(
    restored: dict[str, Any], kinds: set[str]
) -> None:
    assert set(found(record(tier={"restored": restored}))) == kinds


def test_the_share_of_a_campaign_in_which_it_measured() -> None:
    campaign = build_campaign(workloads=["point-select"], nodes=1)
    run = campaign.runs[0]

    def of(*phases: Phase) -> float | None:
        made = replace(run, record=replace(run.record, phases=phases))
        return results.measuring_pct(replace(campaign, runs=(made,)))

    load = Phase("load", START_S, START_S + 20.0)
    warm_up = Phase("warm-up", load.end_s, START_S + 35.0)
    window = Phase("measure", warm_up.end_s, START_S + 95.0)
    after = Phase("prepare", window.end_s, START_S + 100.0)
    assert of(load, warm_up, window, after) == 75.0
    assert of(load) is None and of() is None


# ------------------------------------------------------------------ the disk's own counters


def reading(
    ops: float, kernel: tuple[float, float], flying: float = 0.0
) -> host_load.Reading:
    ways = {way: {"ops": ops, "late_s": 0.0, "over": 0.0} for way in ("read", "write")}
    sides = tuple(
        {"disk_reads_total": one, "disk_writes_total": one, "disk_in_flight": flying}
        for one in kernel
    )
    return host_load.Reading(0, 0, ways, sides)


@pytest.mark.parametrize(
    ("last", "apart_pct"),
    [
        (reading(1_100, (1_095, 1_110)), 0.0),  # between the kernel's two readings
        (
            reading(1_000, (1_010, 1_010), 16),
            0.0,
        ),  # under way: counted on one side alone
        (reading(1_470, (1_870, 1_870)), 29.2),
        (reading(1_870, (1_470, 1_470)), 22.6),
    ],
)
def test_counts_that_are_apart_for_certain(
    last: host_load.Reading, apart_pct: float
) -> None:
    first = reading(100, (100, 100))
    counts = host_load.counted_apart(first, last)
    assert [counts[way]["apart_pct"] for way in ("read", "write")] == pytest.approx(
        [apart_pct] * 2, abs=0.05
    )


def test_without_a_server_there_is_nothing_to_hold_against_the_kernel() -> None:
    assert (
        host_load.counted_apart(host_load.Reading(0, 0), host_load.Reading(0, 0)) == {}
    )


def disks(**of_disk: Any) -> Mapping[str, Any]:
    return {"disk-node-1": of_disk}


def test_a_kernel_that_counts_flushes_as_writes() -> None:
    write = {"served": 1_470.0, "kernel": 1_870.0, "apart_pct": 27.2}
    read = {"served": 100.0, "kernel": 101.0, "apart_pct": 0.9}
    one = found(record(disks=disks(read=read, write=write)))["counts differ"]
    assert one.text == (
        "disk-node-1: the kernel counted 1,870 writes and the disk served 1,470, 27.2 % apart"
    )
    assert found(record(disks=disks(read=read, write=read))) == {}
    at_border = {"served": 98.0, "kernel": 100.0, "apart_pct": 2.0}
    assert found(record(disks=disks(read=read, write=at_border))) == {}


@pytest.mark.parametrize(
    ("late_s", "over_pct", "raised"),
    [
        (1e-5, 1.0, False),
        (150e-6, 5.0, False),
        (151e-6, 1.0, True),
        (0.0, 5.1, True),
    ],
)
def test_a_machine_slower_than_the_tier_while_it_was_measured(
    late_s: float, over_pct: float, raised: bool
) -> None:
    kinds = set(found(record(disks=disks(late_s=late_s, over_pct=over_pct))))
    assert kinds == ({"host slower than the tier"} if raised else set())


@pytest.mark.parametrize(
    "end", [{"host_errors": 3}, {"host_errors": 0}, {"flushes": 3}]
)
def test_what_the_host_could_not_store_since_the_disk_came_up(
    end: dict[str, int],
) -> None:
    """A server of an earlier release counts no such errors."""
    texts = [
        one.text
        for one in found(record(disks=disks(end={"time_s": 1.0, **end}))).values()
    ]
    first = "disk-node-1: this machine could not store 3 requests and answered with an error at "
    assert [text.startswith(first) for text in texts] == [True] * (
        end.get("host_errors", 0) > 0
    )


# ------------------------------------------------------------------ the way to an emulated disk


def timed(
    answered: float, device_s: float, took_s: float, time_s: float
) -> host_load.Reading:
    """Reads alone, which took the kernel and the server so long altogether."""
    own = {
        "ops": answered,
        "late_s": 0.0,
        "over": 0.0,
        "answered": answered,
        "took_s": took_s,
    }
    idle = dict.fromkeys(own, 0.0)
    kernel = {
        "disk_reads_total": answered,
        "disk_read_seconds_total": device_s,
        "disk_writes_total": 7.0,
        "disk_write_seconds_total": 1.0,
        "disk_in_flight": 0.0,
    }
    return host_load.Reading(
        0, 0, {"time_s": time_s, "read": own, "write": idle}, (kernel, kernel)
    )


def test_the_overhead_is_what_the_kernel_saw_and_the_server_did_not() -> None:
    first = timed(10, 0.005, 0.004, 100.0)
    assert host_load.overheads(first, timed(2_010, 1.105, 0.864, 110.0)) == {
        "queue_depth": 0.11,
        "read": {
            "ios": 2000,
            "device_us": 550.0,
            "served_us": 430.0,
            "overhead_us": 120.0,
        },
    }
    too_few = timed(10 + 99, 0.1, 0.1, 110.0)
    enough = timed(10 + 100, 0.1, 0.1, 110.0)
    assert host_load.overheads(first, too_few) == {}
    assert host_load.overheads(first, enough)["read"]["ios"] == 100
    assert host_load.overheads(first, host_load.Reading(0, 0)) == {}


@pytest.mark.parametrize(
    ("device_us", "overhead_us", "ios", "raised"),
    [
        (300.0, 70.0, 5_000, False),
        (345.0, 115.0, 5_000, False),  # 45 µs more than 300
        (346.0, 116.0, 5_000, True),
        (250.0, 20.0, 5_000, True),  # the disk answered sooner than the tier
        (1_500.0, 400.0, 5_000, True),  # a queue that no real disk has
        (60_000.0, 700.0, 5_000, False),  # at the cap, where requests wait in any case
        (350.0, 120.0, 1_000, True),
        (350.0, 120.0, 999, False),  # the kernel's sums are too coarse
    ],
)
def test_a_way_that_cost_other_than_is_taken_off(
    device_us: float, overhead_us: float, ios: int, raised: bool
) -> None:
    served_us = device_us - overhead_us
    read = {
        "ios": ios,
        "device_us": device_us,
        "served_us": served_us,
        "overhead_us": overhead_us,
    }
    of_window = {"disks": disks(overhead={"queue_depth": 1.0, "read": read})}
    made = record(**of_window, tier={"overhead_us": {"disk-node-1": {"read": 70.0}}})
    assert set(found(made)) == ({"overhead differs"} if raised else set())
    assert found(record(**of_window, tier={})) == {}, "nothing was taken off"


def test_how_far_the_overhead_puts_a_latency_off_is_told() -> None:
    """46 µs more than the 300 µs that the disk would take: 46 ÷ 300."""
    read = {"ios": 5_000, "device_us": 346.0, "served_us": 230.0, "overhead_us": 116.0}
    of_window = {"disks": disks(overhead={"queue_depth": 1.0, "read": read})}
    made = record(**of_window, tier={"overhead_us": {"disk-node-1": {"read": 70.0}}})
    (doubt,) = found(made).values()
    assert "116 µs per read in the window; 70 µs are taken off" in doubt.text
    assert "by +15.3 %" in doubt.text


# ------------------------------------------------------------------ who is on which disk


def node(number: int, device: str | None, exporter: str = "") -> Node:
    sources = {"node-exporter": exporter} if exporter else {}
    return Node(f"node-{number}", "database", device=device, sources=sources)


def test_nodes_on_one_disk_are_named() -> None:
    nodes = (node(1, "sdb"), node(2, "sdb"), node(3, "sdc"))
    doubt = found(replace(record(), nodes=nodes))["shared disk"]
    assert doubt.text.startswith("node-1, node-2 share the disk sdb")


def test_a_disk_of_the_wal_that_others_use_is_named() -> None:
    nodes = tuple(
        replace(node(number, data), wal_device=wal)
        for number, data, wal in (
            (1, "sdb", "sdx"),
            (2, "sdc", "sdx"),
            (3, "sdd", "sdy"),
        )
    )
    doubt = found(replace(record(), nodes=nodes))["shared disk"]
    assert doubt.text.startswith("node-1's WAL and node-2's WAL share the disk sdx")
    beside_data = (nodes[0], replace(node(2, "sdx"), wal_device="sdy"))
    doubt = found(replace(record(), nodes=beside_data))["shared disk"]
    assert doubt.text.startswith("node-1's WAL and node-2's data share the disk sdx")
    alone = tuple(replace(one, wal_device=f"wal-{one.name}") for one in nodes)
    assert found(replace(record(), nodes=alone)) == {}


@pytest.mark.parametrize(
    ("word", "kinds"),
    [("shows", {"host cache"}), ("does not show", set()), ("not tried", set())],
)
def test_a_cache_of_the_host_that_shows(word: str, kinds: set[str]) -> None:
    gate = Gate("p15", 0.0, (), {"disks": {"/mnt/a": {"host_cache": word}}})
    assert set(found(replace(record(), gate=gate))) == kinds


def test_what_the_cloud_says_otherwise() -> None:
    told = {
        "provider": "azure",
        "machine": "Standard_D4s_v5",
        "differences": ["node-1 is on HDD"],
    }
    made = record(tier={"cloud": told})
    assert found(made)["another disk than declared"].text == "node-1 is on HDD"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            {"tier": {"cloud": {"machine": "Standard_D4s_v5"}}},
            "runs on a Standard_D4s_v5, but",
        ),
        ({"tier": {"cloud": {"machine": "Standard_D8s_v5"}}}, None),
        ({"tier": {"cloud": {"machine": "standard_d8s_v5"}}}, None),
        (
            {"tier": {"cloud": {"machine": "Standard_D8s_v5, Standard_D4s_v5"}}},
            "runs on a Standard_D4s_v5, but",
        ),
        (
            {"tier": {"cloud": {"machine": "a, b", "machines": ["e2 (2, small)"]}}},
            "runs on a e2 (2, small), but",
        ),
        ({"identity": {"machine_types": {"node-1": "Standard_D8s_v5"}}}, None),
        (
            {
                "identity": {
                    "machine_types": {"node-1": "Standard_D8s_v5", "node-2": "m5.large"}
                }
            },
            "runs on a m5.large, but",
        ),
        ({}, None),
    ],
)
def test_a_machine_of_another_size_than_the_profiles(
    facts: Any, said: str | None
) -> None:
    """The profile names it as the catalog does, the cloud and its Kubernetes without provider."""
    made = record(**facts)
    for vm in ("azure/Standard_D8s_v5", None):
        cluster = replace(made.profile.cluster, vm=vm)
        doubts = found(replace(made, profile=replace(made.profile, cluster=cluster)))
        text = doubts["another disk than declared"].text if doubts else ""
        assert said in text if said and vm else doubts == {}


def test_the_same_name_on_another_machine_is_another_disk() -> None:
    nodes = [
        node(1, "sdb", "http://a"),
        node(2, "sdb", "http://b"),
        node(3, None),
        node(4, None),
    ]
    assert [len(one) for one in disks_of_nodes.by_disk(nodes).values()] == [1, 1, 1, 1]

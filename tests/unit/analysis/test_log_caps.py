"""The disk of a node's WAL against the caps of its own tier, from sampled counters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.telemetry.causes import bottlenecks, cap_causes, node_cause
from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.counters.counter_series import Key, Steps
from orchestrator.analysis.telemetry.use import (
    disk_accounts,
    disk_cap_use,
    disk_seconds,
    second_by_second,
)
from orchestrator.analysis.telemetry.use.disk_accounts import CountedSeconds
from orchestrator.analysis.telemetry.use.node_values import CapUse, of_figures
from orchestrator.metrics import SAMPLE_COLUMNS
from orchestrator.model import Node
from orchestrator.report.sections import over_time_charts
from orchestrator.tier import Limits, MachineLimits, VmCap
from tests.campaign_tables import rates_of
from tests.campaigns import build_campaign
from tests.seen import but
from tests.tiers import a_tier, changed

LOG = a_tier("x's WAL", "WAL", "mounted", 100, 1_000_000)
DATA = a_tier("x", "X", "emulated", 1000, 100_000_000, 0.002, 0.002)
NODE = Node("n1", "database", device="sda", wal_device="sdb")
COUNTERS = ("disk_reads_total", "disk_writes_total", "disk_read_bytes_total")


def both_sampled(writes: float, wal_writes: float) -> dict[Key, Steps]:
    """Eleven seconds of small writes to both disks."""
    rows: list[tuple[float, str, str, str, float, str]] = []
    for which, per_s in (("", writes), ("wal_", wal_writes)):
        for name in (*COUNTERS, "disk_written_bytes_total"):
            count = 0.0
            if name == "disk_writes_total":
                count = per_s
            for second in range(11):
                at_s = float(second)
                row = (at_s, "n1", f"{which}{name}", "", second * count, "measure")
                rows.append(row)
    return rates_of(pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS)))


def sampled(wal_writes: float, wal_bytes: float) -> dict[Key, Steps]:
    """Eleven seconds, in which the disk of the data is far busier than that of the WAL."""
    of_data = {**dict.fromkeys(COUNTERS, 5_000.0), "disk_written_bytes_total": 9e7}
    of_wal = {
        **dict.fromkeys(COUNTERS, 0.0),
        "disk_writes_total": wal_writes,
        "disk_written_bytes_total": wal_bytes,
    }
    each = {**of_data, **{f"wal_{name}": value for name, value in of_wal.items()}}
    rows = [
        (float(second), "n1", name, "", second * per_s, "measure")
        for second in range(11)
        for name, per_s in each.items()
    ]
    return rates_of(pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS)))


def test_the_wal_s_disk_is_held_against_its_own_tier() -> None:
    node = Node("n1", "database", device="sda", wal_device="sdb")
    table = sampled(wal_writes=97.0, wal_bytes=200_000.0)
    found = disk_cap_use.wal_against_caps(LOG, table, node, (0.0, 10.0))
    assert found.wal_iops_of_cap_pct == pytest.approx(97.0)
    assert found.wal_bandwidth_of_cap_pct == pytest.approx(20.0)
    assert found.iops_of_cap_pct is None


def test_without_a_tier_of_its_own_it_has_no_caps() -> None:
    node = Node("n1", "database", device="sda", wal_device="sdb")
    table = sampled(1.0, 1.0)
    found = disk_cap_use.wal_against_caps(None, table, node, (0.0, 10.0))
    assert found == CapUse()


MACHINE = MachineLimits("azure/Standard_D4s_v5", Limits(iops=400))


@pytest.mark.parametrize(
    ("wal_writes", "of_cap_pct"),
    [(250.0, 100.0), (230.0, 95.0), (229.0, 94.75), (150.0, 75.0), (50.0, 50.0)],
)
def test_both_disks_are_held_against_what_their_machine_lets_through(
    wal_writes: float, of_cap_pct: float
) -> None:
    """The data's disk does 150 writes a second, far from its own 1,000."""
    tier = replace(DATA, machine=MACHINE)
    found = disk_cap_use.with_machine(
        CapUse(), tier, both_sampled(150.0, wal_writes), NODE, (0.0, 10.0)
    )
    assert found.machine_iops_of_cap_pct == pytest.approx(of_cap_pct)
    is_full = wal_writes >= 230
    assert found.time_at_machine_iops_cap_pct == (100.0 if is_full else 0.0)
    assert found.machine_bandwidth_of_cap_pct is None


def test_the_cause_names_the_machine_where_both_disks_fill_it() -> None:
    """As counted by both: each is below its own cap, and the data's disk was held back."""
    values = of_figures(
        {
            "disk_iops": 150.0,
            "disk_await_s": 0.02,
            "idle_disk_latency_s": 0.002,
            "iops_of_cap_pct": 15.0,
            "time_at_iops_cap_pct": 0.0,
            "wal_iops_of_cap_pct": 25.0,
            "held_back_pct": 80.0,
            "machine_iops_of_cap_pct": 99.0,
            "time_at_machine_iops_cap_pct": 97.0,
            "cpu_pct": 20.0,
        }
    )
    cause = node_cause.judge(values, replace(DATA, machine=MACHINE), "node-1")
    assert cause.name == "vm_cap"
    assert "99 % of 400 IOPS" in cause.text
    assert "(azure/Standard_D4s_v5)" in cause.text
    free = node_cause.judge(
        but(values, held_back_pct=2.0), replace(DATA, machine=MACHINE), "n"
    )
    assert free.name != "vm_cap"
    # A load that comes at a rate is served all the same, and no faster disk lets more through.
    paced = node_cause.judge(
        but(values, rate_served_pct=99.9), replace(DATA, machine=MACHINE), "n"
    )
    assert cause.is_no_disk and paced == replace(cause, text=paced.text)


@pytest.mark.parametrize(
    ("together_pct", "says"),
    [
        (95.0, "together reached 95 % of 400 IOPS"),
        # The median second is below it, and half of the others were not.
        (94.9, "together were at 400 IOPS 40 % of the time"),
    ],
)
def test_how_full_the_machine_is_goes_by_the_median_second(
    together_pct: float, says: str
) -> None:
    values = of_figures(
        {
            "disk_iops": 150.0,
            "held_back_pct": 80.0,
            "machine_iops_of_cap_pct": together_pct,
            "time_at_machine_iops_cap_pct": 40.0,
            "cpu_pct": 20.0,
        }
    )
    cause = node_cause.judge(values, replace(DATA, machine=MACHINE), "node-1")
    assert cause.name == "vm_cap"
    assert says in cause.text


def test_a_full_cap_of_its_own_is_told_though_the_machine_lowers_it() -> None:
    values = of_figures(
        {
            "disk_iops": 900.0,
            "iops_of_cap_pct": 95.0,
            "time_at_iops_cap_pct": 90.0,
            "machine_iops_of_cap_pct": 99.0,
            "bandwidth_of_cap_pct": 96.0,
            "held_back_pct": 80.0,
            "cpu_pct": 20.0,
        }
    )
    lowered = changed(DATA, vm_caps=(VmCap("IOPS", "the machine lets through less"),))
    tier = replace(lowered, machine=MACHINE)
    cause = node_cause.judge(values, tier, "node-1")
    assert "both at their caps on node-1 (95 % and 96 %)" in cause.text
    assert "limits of unlike owners" in cause.text


@pytest.mark.parametrize(
    ("own_pct", "together_pct", "cause"),
    [
        (0.0, 30.0, "vm_cap"),
        (0.0, 40.0, "vm_cap"),
        (39.9, 40.0, "vm_cap"),
        # As often at its own cap: a faster machine alone would change nothing.
        (40.0, 40.0, "iops_cap"),
        (41.0, 40.0, "iops_cap"),
    ],
)
def test_which_of_two_caps_is_reached_more_often_is_named(
    own_pct: float, together_pct: float, cause: str
) -> None:
    values = of_figures(
        {
            "disk_iops": 150.0,
            "disk_await_s": 0.02,
            "idle_disk_latency_s": 0.002,
            "iops_of_cap_pct": 60.0,
            "time_at_iops_cap_pct": own_pct,
            "held_back_pct": 80.0,
            "machine_iops_of_cap_pct": 60.0,
            "time_at_machine_iops_cap_pct": together_pct,
            "cpu_pct": 20.0,
        }
    )
    found = cap_causes.cap_causes(values, replace(DATA, machine=MACHINE), "n", 30.0)
    assert [kind.name for kind in found][:1] == [cause]


# What sessions were seen to do on a node whose disk they wait for.
WAITING = {
    "disk_iops": 150.0,
    "disk_queue_depth": 25.0,
    "disk_await_s": 0.02,
    "idle_disk_latency_s": 0.002,
    "held_back_pct": 60.0,
    "cpu_pct": 20.0,
    "node_cores": 2.0,
    "client_cores": 0.2,
    "sessions": 32.0,
    "seen_reading_pct": 60.0,
    "seen_syncing_pct": 20.0,
    "seen_running_pct": 10.0,
    "seen_idle_pct": 10.0,
}


@pytest.mark.parametrize("sessions", [0.0, 32.0])
def test_a_machine_s_cap_that_is_reached_at_times_is_not_called_the_disk_s(
    sessions: float,
) -> None:
    """The data's disk does 15 % of its own cap: one with more IOPS would not help."""
    values = of_figures(
        {
            **WAITING,
            "sessions": sessions,
            "iops_of_cap_pct": 15.0,
            "time_at_iops_cap_pct": 0.0,
            "machine_iops_of_cap_pct": 70.0,
            "time_at_machine_iops_cap_pct": 40.0,
        }
    )
    cause = node_cause.judge(values, replace(DATA, machine=MACHINE), "node-1")
    assert cause.name == "vm_cap"
    assert "together were at 400 IOPS 40 % of the time" in cause.text
    often = but(values, iops_of_cap_pct=90.0, time_at_iops_cap_pct=45.0)
    cause = node_cause.judge(often, replace(DATA, machine=MACHINE), "node-1")
    assert cause.name == "iops_cap"


def test_of_a_machine_s_two_caps_the_one_that_is_reached_is_named() -> None:
    machine = MachineLimits("azure/Standard_D4s_v5", Limits(400, 4_000_000))
    values = of_figures(
        {
            **WAITING,
            "disk_bytes_per_s": 2_000_000.0,
            "iops_of_cap_pct": 15.0,
            "bandwidth_of_cap_pct": 2.0,
            "machine_iops_of_cap_pct": 40.0,
            "time_at_machine_iops_cap_pct": 1.0,
            "machine_bandwidth_of_cap_pct": 80.0,
            "time_at_machine_bandwidth_cap_pct": 45.0,
        }
    )
    cause = node_cause.judge(values, replace(DATA, machine=machine), "node-1")
    assert cause.name == "vm_cap"
    assert "together were at 4 MB/s 45 % of the time" in cause.text


def test_a_data_disk_at_its_own_cap_is_not_the_machine_s() -> None:
    """What the machine lets through of both is told of both, and is far from reached."""
    values = of_figures(
        {
            "disk_iops": 1000.0,
            "disk_await_s": 0.02,
            "idle_disk_latency_s": 0.002,
            "iops_of_cap_pct": 99.0,
            "time_at_iops_cap_pct": 99.0,
            "machine_iops_of_cap_pct": 60.0,
            "cpu_pct": 20.0,
        }
    )
    cap = VmCap(None, "IOPS: D4 lets through 2,000 of the 6,000 of data and WAL")
    tier = replace(changed(DATA, vm_caps=(cap,)), machine=MACHINE)
    assert node_cause.judge(values, tier, "node-1").name == "iops_cap"


def test_of_several_nodes_the_one_whose_machine_is_full_is_judged() -> None:
    idle = of_figures({"iops_of_cap_pct": 40.0, "cpu_pct": 10.0, "disk_iops": 400.0})
    full = of_figures(
        {
            "iops_of_cap_pct": 20.0,
            "machine_iops_of_cap_pct": 99.0,
            "held_back_pct": 80.0,
            "cpu_pct": 10.0,
            "disk_iops": 200.0,
        }
    )
    (run,) = build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, frames=False
    ).runs
    profile = run.record.profile
    tier = replace(profile.tier, machine=MACHINE)
    record = replace(run.record, profile=replace(profile, tier=tier))
    judged = replace(run, record=record)
    judged.seen_of_nodes[None] = {"n1": idle, "n2": full}
    limit = bottlenecks.bottleneck([judged], None)
    assert limit is not None
    assert (limit.node, limit.verdict) == ("n2", "vm_cap")


@pytest.mark.parametrize(
    ("wal_writes", "limit"), [(230.0, "machine's cap on disks"), (229.0, None)]
)
def test_each_second_at_the_machine_s_cap_is_drawn_so(
    wal_writes: float, limit: str | None
) -> None:
    (run,) = build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, frames=False
    ).runs
    tier = replace(DATA, machine=MACHINE)
    record = replace(run.record, profile=replace(run.record.profile, tier=tier))
    rates = both_sampled(150.0, wal_writes)
    disk = disk_seconds.of_node(record, rates, NODE)
    account = disk_accounts.of_node(rates, NODE.name)
    limits = second_by_second.at_limits(record, rates, NODE, disk, account)
    assert [limits.get(float(second)) for second in range(1, 11)] == [limit] * 10
    strip = pd.DataFrame({"tier": ["x"], "limit": [limit or "node CPU"]})
    assert over_time_charts.colours_of_limits(strip), "each has a colour"


@pytest.mark.parametrize(
    ("wal_writes", "held_back_pct", "limit"),
    [
        # A disk that holds next to nothing back was asked for just that rate.
        (250.0, 9.9, None),
        (250.0, 10.0, "machine's cap on disks"),
        (150.0, 19.9, None),
        (150.0, 20.0, "disk limits, counted"),
    ],
)
def test_a_second_at_a_limit_is_for_the_disk_s_own_account(
    wal_writes: float, held_back_pct: float, limit: str | None
) -> None:
    (run,) = build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, frames=False
    ).runs
    tier = replace(DATA, machine=MACHINE)
    record = replace(run.record, profile=replace(run.record.profile, tier=tier))
    rates = both_sampled(150.0, wal_writes)
    disk = disk_seconds.of_node(record, rates, NODE)
    end_s = np.arange(1.0, 11.0)
    account = CountedSeconds(end_s, np.full(10, held_back_pct))
    limits = second_by_second.at_limits(record, rates, NODE, disk, account)
    assert {limits.get(second) for second in end_s.tolist()} == {limit}


@pytest.mark.parametrize(("cores", "limit"), [(17.0, "node CPU"), (16.5, None)])
def test_a_second_with_most_of_the_cores_in_use_is_at_the_limit(
    cores: float, limit: str | None
) -> None:
    """A node may use 20 of them, of which 85 % are 17."""
    (run,) = build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, frames=False
    ).runs
    node = Node("n1", "database", device="sda", cpus=20.0)
    record = replace(run.record, nodes=(node,))
    rows = [
        (float(second), "n1", counter_names.CPU_SECONDS, "s", second * cores, "measure")
        for second in range(11)
    ]
    rates = rates_of(pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS)))
    disk = disk_seconds.of_node(record, rates, node)
    account = disk_accounts.of_node(rates, node.name)
    limits = second_by_second.at_limits(record, rates, node, disk, account)
    assert [limits.get(float(second)) for second in range(1, 11)] == [limit] * 10


@pytest.mark.parametrize(
    ("figures", "shares"),
    [
        (
            {"shared_bandwidth_of_cap_pct": 98.0},
            "97 % and 98 % of what all disks share",
        ),
        (
            {"machine_bandwidth_of_cap_pct": 95.0},
            "97 % and 95 % of what its machine lets through",
        ),
        ({"bandwidth_of_cap_pct": 96.0}, "97 % and 96 %"),
    ],
)
def test_of_two_full_caps_each_is_told_by_the_share_of_its_own(
    figures: dict[str, float], shares: str
) -> None:
    """`both at their caps (97 % and 40 %)` had the disk's own share where another cap was full."""
    values = of_figures(
        {
            "disk_iops": 900.0,
            "disk_await_s": 0.02,
            "idle_disk_latency_s": 0.002,
            "iops_of_cap_pct": 97.0,
            "time_at_iops_cap_pct": 90.0,
            "bandwidth_of_cap_pct": 40.0,
            "held_back_pct": 80.0,
            "cpu_pct": 20.0,
            **figures,
        }
    )
    cause = node_cause.judge(values, replace(DATA, machine=MACHINE), "node-1")
    assert f"both at their caps on node-1 ({shares})" in cause.text

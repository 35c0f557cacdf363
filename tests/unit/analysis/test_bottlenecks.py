"""What limited a cell: literal figures against the rules, then whole synthetic runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from orchestrator.analysis import verdicts
from orchestrator.analysis.conclusions import Bottleneck, Change, Decision, Offer
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes import (
    bottlenecks,
    node_cause,
    outside_causes,
    slow_nodes,
    throughput_shares,
)
from orchestrator.analysis.telemetry.causes.cause import Cause
from orchestrator.analysis.telemetry.causes.phrases import NO_FASTER_DISK
from orchestrator.analysis.telemetry.use import cap_binding, disk_seconds, node_use
from orchestrator.analysis.telemetry.use.node_values import NAMES, Evidence, of_figures
from orchestrator.facts import BottleneckCause
from orchestrator.tier import Tier, VmCap, VmLimit
from orchestrator.tier.slow_disk import SlowDisk
from tests.campaign_tables import Shape, held, rates_of, sampled_in
from tests.campaigns import build_campaign, build_tier
from tests.tiers import changed

QUIET: Mapping[str, float] = {
    "iops_of_cap_pct": 40.0,
    "time_at_iops_cap_pct": 0.0,
    "bandwidth_of_cap_pct": 20.0,
    "time_at_bandwidth_cap_pct": 0.0,
    "disk_iops": 440.0,
    "disk_bytes_per_s": 25e6,
    "disk_await_s": 0.0022,
    "idle_disk_latency_s": 0.002,
    "disk_queue_depth": 1.0,
    "disk_busy_pct": 40.0,
    "cpu_pct": 50.0,
    "client_cpu_pct": 10.0,
    "host_cpu_pct": 60.0,
}
ONE_SESSION = {
    "node_cores": 0.905,
    "busiest_core_pct": 75.8,
    "sessions": 1.0,
    "cpu_pct": 45.3,
    "seen_idle_pct": 40.0,
    "seen_running_pct": 60.0,
}
TWO_SESSIONS = {**ONE_SESSION, "sessions": 2.0}
ON_THE_WAY = {
    "sessions": 8.0,
    "seen_idle_pct": 90.0,
    "seen_running_pct": 10.0,
    "node_cores": 0.8,
    "client_cores": 0.5,
    "cpu_pct": 20.0,
}
AT_CAP = {"iops_of_cap_pct": 99.0, "time_at_iops_cap_pct": 71.0, "disk_await_s": 0.015}
# Each I/O takes far longer than on the idle disk.
QUEUED = {"disk_await_s": 0.015}
ON_ONE_CORE = {"node_cores": 1.0, "busiest_core_pct": 99.0}
STANDS_STILL = {"time_at_way_pct": 92.0}
# The provider reports that the disk's own limit was reached, though no declared cap is.
REPORTED = {"disk_iops_limit_reached_pct": 60.0}
TIER = build_tier("premium")


def judged(figures: Mapping[str, float], tier: Tier = TIER, without: str = "") -> Cause:
    every = {**QUIET, **figures}
    every.pop(without, None)
    return node_cause.judge(of_figures(every), tier, "node-2")


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ({}, "unattributed"),
        (AT_CAP, "iops_cap"),
        ({**AT_CAP, "iops_of_cap_pct": 94.0}, "iops_cap"),  # in 71 % of the seconds
        (
            {**AT_CAP, "iops_of_cap_pct": 64.0, "time_at_iops_cap_pct": 24.0},
            "unattributed",
        ),
        ({**AT_CAP, "disk_await_s": 0.0039}, "unattributed"),  # full, but nothing waits
        ({**AT_CAP, "bandwidth_of_cap_pct": 92.0}, "unattributed"),
        ({**AT_CAP, "bandwidth_of_cap_pct": 97.0}, "unattributed"),
        ({"bandwidth_of_cap_pct": 99.0, "disk_await_s": 0.02}, "bandwidth_cap"),
        ({"wal_disk_syncing_pct": 70.0}, "wal_disk_bound"),
        ({"wal_disk_syncing_pct": 49.0}, "unattributed"),
        ({"wal_bandwidth_of_cap_pct": 96.0}, "wal_disk_bound"),
        ({"wal_iops_of_cap_pct": 94.0}, "unattributed"),
        ({"wal_disk_syncing_pct": 70.0, "cpu_pct": 71.0}, "unattributed"),
        ({"wal_disk_syncing_pct": 70.0, "iops_of_cap_pct": 94.0}, "wal_disk_bound"),
        ({"wal_disk_syncing_pct": 70.0, "cpu_pct": 86.0}, "cpu_bound"),
        ({"wal_disk_syncing_pct": 70.0, "sessions_reading_pct": 60.0}, "latency_bound"),
        ({"log_syncing_pct": 40.0, "sessions_reading_pct": 1.0}, "unattributed"),
        ({"cpu_pct": 86.0}, "cpu_bound"),
        ({"cpu_pct": 84.0}, "unattributed"),
        ({"cpu_pct": 95.0, "iops_of_cap_pct": 87.0}, "cpu_bound"),
        ({"client_cpu_pct": 81.0, "host_cpu_pct": 99.0}, "client_bound"),
        ({"host_cpu_pct": 91.0, "cpu_pct": 99.0}, "machine_bound"),
        ({"disk_busy_pct": 95.0}, "latency_bound"),
        ({"disk_busy_pct": 95.0, "cpu_pct": 72.0}, "unattributed"),
        (
            {"disk_busy_pct": 95.0, "disk_await_s": 0.0031},
            "unattributed",
        ),  # queues elsewhere
        ({"disk_busy_pct": 10.0, "log_syncing_pct": 80.0}, "latency_bound"),
        # 30 % reading, and of the rest 30 % while a log sync is under way: 51 %; with 25 %: 47.5 %
        ({"sessions_reading_pct": 30.0, "log_syncing_pct": 30.0}, "latency_bound"),
        ({"sessions_reading_pct": 30.0, "log_syncing_pct": 25.0}, "unattributed"),
        # counted by the database, and yet more than half of each I/O is the disk's own latency
        ({"sessions_reading_pct": 60.0, "disk_await_s": 0.0039}, "latency_bound"),
        ({"sessions_reading_pct": 60.0, "disk_await_s": 0.0041}, "unattributed"),
        (
            {"disk_busy_pct": 95.0, "sessions_reading_pct": 5.0},
            "unattributed",
        ),  # it counted
        (
            {"memory_pressure_pct": 6.0},
            "unattributed",
        ),  # an I/O is under way 40 % of the time
        ({"memory_pressure_pct": 30.0, "disk_busy_pct": 10.0}, "memory_bound"),
        ({"memory_pressure_pct": 30.0, "disk_busy_pct": 16.0}, "unattributed"),
        ({"memory_pressure_pct": 60.0, "disk_busy_pct": 95.0}, "latency_bound"),
        ({"nopm_of_ceiling_pct": 97.7}, "load_bound"),
        ({"rate_served_pct": 99.5}, "load_bound"),
        ({"rate_served_pct": 98.0}, "unattributed"),
        (
            {"rate_served_pct": 99.5, "iops_before_fall": 9e3, "iops_after_fall": 1e3},
            "burst_exhausted",
        ),
        ({"node_cores": 1.0, "busiest_core_pct": 99.0}, "single_core"),
        ({"node_cores": 1.0, "busiest_core_pct": 94.0}, "unattributed"),
        ({"node_cores": 1.9, "busiest_core_pct": 99.0}, "unattributed"),
        (
            {"node_cores": 1.0, "busiest_core_pct": 99.0, "cpu_pct": 99.0},
            "cpu_bound",
        ),  # its limit
        # one session that computes, moved from core to core, and idle in two of five readings as it
        # was seen; and one that waits for its client
        (ONE_SESSION, "single_core"),
        ({**ONE_SESSION, "sessions": 2.0}, "few_sessions"),
        ({**ONE_SESSION, "node_cores": 0.6}, "few_sessions"),
        ({"client_cores": 1.0, "client_core_pct": 99.0}, "client_bound"),
        ({"throttled_pct": 51.0}, "cpu_bound"),
        ({"throttled_pct": 49.0}, "unattributed"),
        ({"retried_pct": 5.1}, "contention"),
        ({"retried_pct": 4.9}, "unattributed"),
        # an idle disk, and a lock that holds all sessions would look the same
        ({"disk_busy_pct": 9.0}, "unattributed"),
        ({"disk_busy_pct": 9.0, "sessions_reading_pct": 3.0}, "unattributed"),
        ({"host_cpu_pct": 60.0, "steal_pct": 31.0}, "machine_bound"),
        ({"iops_before_fall": 3_490.0, "iops_after_fall": 1_101.0}, "burst_exhausted"),
    ],
)
def test_rules(figures: Mapping[str, float], verdict: str) -> None:
    assert judged(figures).name == verdict


@pytest.mark.parametrize(
    ("name", "border", "others", "verdict"),
    [
        ("cpu_pct", 85.0, {}, "cpu_bound"),
        ("throttled_pct", 50.0, {}, "cpu_bound"),
        ("client_cpu_pct", 80.0, {}, "client_bound"),
        ("host_cpu_pct", 90.0, {}, "machine_bound"),
        ("wal_disk_syncing_pct", 50.0, {}, "wal_disk_bound"),
        ("wal_iops_of_cap_pct", 95.0, {}, "wal_disk_bound"),
        ("seen_locked_pct", 50.0, {}, "contention"),
        ("retried_pct", 5.0, {}, "contention"),
        # More than twice as much as the disk is busy, and in 5 % of the time at least.
        ("memory_pressure_pct", 60.0, {"disk_busy_pct": 30.0}, "memory_bound"),
        ("memory_pressure_pct", 5.0, {"disk_busy_pct": 2.0}, "memory_bound"),
        # Caps, by the median second, and at times where nothing else is the limit.
        ("iops_of_cap_pct", 95.0, QUEUED, "iops_cap"),
        ("bandwidth_of_cap_pct", 95.0, QUEUED, "bandwidth_cap"),
        ("shared_iops_of_cap_pct", 95.0, QUEUED, "shared_cap"),
        ("time_at_iops_cap_pct", 25.0, {**QUEUED, "iops_of_cap_pct": 64}, "iops_cap"),
        ("wal_iops_limit_reached_pct", 50.0, {}, "wal_disk_bound"),
        # What the load asks for, the network, the load generator and the machine.
        ("rate_served_pct", 99.0, {}, "load_bound"),
        ("nopm_of_ceiling_pct", 95.0, {}, "load_bound"),
        ("network_of_rate_pct", 90.0, {}, "network_bound"),
        ("client_machine_cpu_pct", 90.0, {}, "client_bound"),
        ("client_core_pct", 95.0, {"client_cores": 1.0}, "client_bound"),
        ("client_cores", 0.9, {"client_core_pct": 99.0}, "client_bound"),
        ("steal_pct", 30.0, {}, "machine_bound"),
        ("time_at_way_pct", 75.0, {}, "service_cap"),
        # What sessions wait for, counted by the database or by how busy the disk is.
        ("disk_busy_pct", 70.0, {}, "latency_bound"),
        ("sessions_reading_pct", 50.0, {}, "latency_bound"),
        ("busiest_core_pct", 95.0, {"node_cores": 1.0}, "single_core"),
        ("node_cores", 0.9, {"busiest_core_pct": 99.0}, "single_core"),
        ("seen_running_pct", 50.0, ON_ONE_CORE, "single_core"),
    ],
)
def test_a_rule_holds_from_its_border_on(
    name: str, border: float, others: Mapping[str, float], verdict: str
) -> None:
    assert judged({**others, name: border}).name == verdict
    assert judged({**others, name: border - 0.01}).name == "unattributed"


@pytest.mark.parametrize(
    ("name", "border", "others", "verdict"),
    [
        # Latency: with a free CPU, below a cap, and with I/Os that do not queue.
        ("cpu_pct", 70.0, {"disk_busy_pct": 95.0}, "latency_bound"),
        ("iops_of_cap_pct", 95.0, {"disk_busy_pct": 95.0}, "latency_bound"),
        ("disk_await_s", 0.003, {"disk_busy_pct": 95.0}, "latency_bound"),
        ("disk_await_s", 0.004, {"sessions_reading_pct": 60.0}, "latency_bound"),
        # A provider names the data's disk for as long as the WAL's.
        (
            "disk_iops_limit_reached_pct",
            50.0,
            {"wal_iops_limit_reached_pct": 50.0},
            "wal_disk_bound",
        ),
        # A store that stands still, where nothing on this side may be what holds it.
        ("host_cpu_pct", 70.0, STANDS_STILL, "service_cap"),
        ("busiest_core_pct", 70.0, STANDS_STILL, "service_cap"),
        ("node_cores", 0.8, STANDS_STILL, "service_cap"),
        ("seen_locked_pct", 5.0, STANDS_STILL, "service_cap"),
        ("retried_pct", 5.0, {**STANDS_STILL, "sessions": 0.0}, "service_cap"),
    ],
)
def test_a_rule_holds_up_to_its_border(
    name: str, border: float, others: Mapping[str, float], verdict: str
) -> None:
    assert judged({**others, name: border * 0.999}).name == verdict
    assert judged({**others, name: border}).name == "unattributed"


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        # One thread on one core, as far as cores are counted.
        ({**ON_ONE_CORE, "node_cores": 1.15}, "single_core"),
        ({**ON_ONE_CORE, "node_cores": 1.16}, "unattributed"),
        ({**ONE_SESSION, "node_cores": 0.8}, "single_core"),
        ({**ONE_SESSION, "node_cores": 0.79}, "few_sessions"),
        ({**ONE_SESSION, "node_cores": 1.16}, "few_sessions"),
        ({**ON_ONE_CORE, "cpu_pct": 85.0}, "cpu_bound"),
        # Two sessions beside an idle disk: their data are in memory.
        ({**ONE_SESSION, "sessions": 2.0, "disk_busy_pct": 9.99}, "in_cache"),
        ({**ONE_SESSION, "sessions": 2.0, "disk_busy_pct": 10.0}, "few_sessions"),
        # A disk at its own cap is not held back by what all of them share.
        ({**AT_CAP, "shared_iops_of_cap_pct": 98.0}, "iops_cap"),
        # More of them would help while nothing is at 70 %, or full for a quarter of the seconds.
        ({**TWO_SESSIONS, "cpu_pct": 69.99}, "few_sessions"),
        ({**TWO_SESSIONS, "cpu_pct": 70.0}, "cpu_bound"),
        ({**TWO_SESSIONS, "client_cpu_pct": 69.99}, "few_sessions"),
        ({**TWO_SESSIONS, "client_cpu_pct": 70.0}, "cpu_bound"),
        ({**TWO_SESSIONS, "iops_of_cap_pct": 69.99}, "few_sessions"),
        ({**TWO_SESSIONS, "iops_of_cap_pct": 70.0}, "cpu_bound"),
        ({**TWO_SESSIONS, "time_at_cpu_pct": 24.99}, "few_sessions"),
        ({**TWO_SESSIONS, "time_at_cpu_pct": 25.0}, "cpu_bound"),
        ({**TWO_SESSIONS, "time_at_iops_cap_pct": 24.99}, "few_sessions"),
        ({**TWO_SESSIONS, "time_at_iops_cap_pct": 25.0}, "cpu_bound"),
        # The way to the load generator, unless that may fill a core, or the machine is full with
        # what gives way, and node and load generator use a quarter of it.
        ({**ON_THE_WAY, "client_cores": 0.89}, "network_bound"),
        ({**ON_THE_WAY, "client_cores": 0.9}, "unattributed"),
        (
            {**ON_THE_WAY, "client_cores": 0.9, "client_core_pct": 50.0},
            "network_bound",
        ),
        (
            {**ON_THE_WAY, "low_priority_pct": 29.9, "other_cpu_pct": 35.0},
            "network_bound",
        ),
        (
            {**ON_THE_WAY, "low_priority_pct": 30.0, "other_cpu_pct": 35.0},
            "unattributed",
        ),
        (
            {**ON_THE_WAY, "low_priority_pct": 30.0, "other_cpu_pct": 35.1},
            "network_bound",
        ),
        # The other cap is nearly full from 90 % on, and full itself from 95 % on.
        ({**AT_CAP, "bandwidth_of_cap_pct": 89.99}, "iops_cap"),
        ({**AT_CAP, "bandwidth_of_cap_pct": 90.0}, "unattributed"),
        ({**AT_CAP, "bandwidth_of_cap_pct": 94.99}, "unattributed"),
        ({**AT_CAP, "bandwidth_of_cap_pct": 95.0}, "unattributed"),
        # A CPU is as busy as the cap is full: not more than 5 points apart, and full itself.
        ({**AT_CAP, "host_cpu_pct": 93.99}, "iops_cap"),
        ({**AT_CAP, "host_cpu_pct": 94.0}, "unattributed"),
        ({**AT_CAP, "iops_of_cap_pct": 95.0, "host_cpu_pct": 90.0}, "unattributed"),
        # More than all of a cap is as much as all of it.
        ({**AT_CAP, "iops_of_cap_pct": 104.0, "host_cpu_pct": 97.0}, "unattributed"),
        ({**AT_CAP, "iops_of_cap_pct": 95.0, "client_cpu_pct": 80.0}, "iops_cap"),
        # Below its declared cap a disk is held back by a limit that is not known.
        ({**REPORTED, "host_cpu_pct": 89.99}, "iops_cap"),
        ({**REPORTED, "host_cpu_pct": 90.0}, "unattributed"),
        ({**REPORTED, "client_cpu_pct": 79.99}, "iops_cap"),
        ({**REPORTED, "client_cpu_pct": 80.0}, "unattributed"),
        ({**REPORTED, "cpu_pct": 84.99}, "iops_cap"),
        ({**REPORTED, "cpu_pct": 85.0}, "unattributed"),
    ],
)
def test_both_sides_of_a_border_between_causes(
    figures: Mapping[str, float], verdict: str
) -> None:
    assert judged(figures).name == verdict


@pytest.mark.parametrize(
    ("figures", "words", "is_said"),
    [
        ({**AT_CAP, "time_at_iops_cap_pct": 25.0}, "At the IOPS cap 25 %", True),
        ({**AT_CAP, "time_at_iops_cap_pct": 24.9}, "Bursts shorter than", True),
        ({"bandwidth_of_cap_pct": 99.0, **QUEUED}, "(25 MB/s)", True),
        ({"rate_served_pct": 99.5}, "99.5 % of the transactions", True),
        ({"nopm_of_ceiling_pct": 97.7}, "reached 97.7 % of the most", True),
        (TWO_SESSIONS, "Its 2 sessions", True),
        (ON_ONE_CORE, "used 1.00 cores", True),
        (ONE_SESSION, "more sessions at a time would use them", True),
        ({**ON_ONE_CORE, "seen_locked_pct": 0.0}, "more sessions at a time", False),
        ({**AT_CAP, "bandwidth_of_cap_pct": 94.99}, "both at their caps", False),
        ({**AT_CAP, "bandwidth_of_cap_pct": 95.0}, "both at their caps", True),
        ({**AT_CAP, "memory_pressure_pct": 5.0}, "More memory would help", True),
        ({**AT_CAP, "memory_pressure_pct": 4.99}, "More memory would help", False),
        ({"host_cpu_pct": 95.0, "steal_pct": 1.0}, "gave 1 % to others", True),
        ({"host_cpu_pct": 95.0, "steal_pct": 0.99}, "to others", False),
    ],
)
def test_both_sides_of_a_border_between_sentences(
    figures: Mapping[str, float], words: str, is_said: bool
) -> None:
    assert (words in judged(figures).text) is is_said


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ({"rate_served_pct": 99.5}, "load_bound"),
        ({"nopm_of_ceiling_pct": 99.0}, "load_bound"),
        ({"network_of_rate_pct": 95.0}, "network_bound"),
        ({**TWO_SESSIONS, "disk_busy_pct": 5.0}, "in_cache"),
    ],
)
def test_what_a_faster_disk_does_not_change_whatever_sessions_wait_for(
    figures: Mapping[str, float], verdict: str
) -> None:
    found = judged(figures)
    assert (found.name, found.is_no_disk) == (verdict, True)


@pytest.mark.parametrize(("await_s", "is_its"), [(0.004, True), (0.0039, False)])
def test_half_of_an_i_os_time_that_nothing_accounts_for_is_the_machines(
    await_s: float, is_its: bool
) -> None:
    figures = {"held_back_pct": 0.0, "disk_await_s": await_s, "disk_busy_pct": 95.0}
    values = of_figures({**QUIET, **figures})
    assert outside_causes.host_disk_bound(values) is is_its


@pytest.mark.parametrize(("reading_pct", "is_idle"), [(1.99, True), (2.0, False)])
def test_a_disk_is_idle_while_sessions_hardly_wait_for_it(
    reading_pct: float, is_idle: bool
) -> None:
    found = judged({"cpu_pct": 95.0, "sessions_reading_pct": reading_pct})
    assert found.is_no_disk is is_idle


# A disk whose requests take 2 ms while it is idle, at its cap of 1,000 a second.
FULL: Mapping[str, float] = {
    "idle_disk_latency_s": 0.002,
    "disk_await_s": 0.0039,
    "disk_iops": 1_000.0,
    "iops_of_cap_pct": 100.0,
    "disk_queue_depth": 1.0,
}


@pytest.mark.parametrize(
    ("figures", "holds_back"),
    [
        ({}, False),
        # They queue behind it: they take twice as long as on the idle disk.
        ({"disk_await_s": 0.004}, True),
        # Those in flight would do 1.25 times as many without it, by Little's law.
        ({"disk_queue_depth": 2.49}, False),
        ({"disk_queue_depth": 2.5}, True),
        ({"disk_queue_depth": 2.5, "disk_iops": 0.0}, False),
        # How fast it is while idle is not known: so many in flight are a queue.
        ({"idle_disk_latency_s": 0.0, "disk_queue_depth": 1.99}, False),
        ({"idle_disk_latency_s": 0.0, "disk_queue_depth": 2.0}, True),
    ],
)
def test_a_cap_that_is_reached_holds_back_from_each_border_on(
    figures: Mapping[str, float], holds_back: bool
) -> None:
    values = of_figures(dict(**{**FULL, **figures}))
    assert cap_binding.binds("iops", values) is holds_back


# ------------------------------------------------------------------ what throughput follows

READING = {
    "sessions": 8.0,
    "seen_reading_pct": 60.0,
    "seen_running_pct": 40.0,
    "node_cores": 3.2,
    "disk_iops": 440.0,
    "disk_read_iops": 100.0,
    "disk_await_s": 0.01,
    "disk_queue_depth": 4.8,
    "idle_disk_latency_s": 0.002,
}


@pytest.mark.parametrize(
    ("bandwidth_pct", "cap"), [(40.0, "iops_cap"), (40.1, "bandwidth_cap")]
)
def test_of_two_caps_the_fuller_one_holds_sessions_back(
    bandwidth_pct: float, cap: BottleneckCause
) -> None:
    caps = {"iops_of_cap_pct": 40.0, "bandwidth_of_cap_pct": bandwidth_pct}
    shares = throughput_shares.follows(of_figures({**READING, **caps}))
    assert {"iops_cap", "bandwidth_cap"} & set(shares) == {cap}


def test_at_a_full_cap_what_is_written_back_waits_as_sessions_do() -> None:
    """Below it only their own I/Os count: a quarter of all are reads."""
    below = throughput_shares.follows(of_figures({**READING, "iops_of_cap_pct": 94.99}))
    full = throughput_shares.follows(of_figures({**READING, "iops_of_cap_pct": 95.0}))
    assert below["iops_cap"] < 60 < 90 < full["iops_cap"]


def test_a_load_generator_computes_for_no_more_sessions_than_are_idle() -> None:
    """Its four cores would be those of half of the sessions; a tenth of these is idle."""
    seen = {"sessions": 8.0, "seen_idle_pct": 10.0, "seen_running_pct": 90.0}
    cores = {"client_cores": 4.0, "node_cores": 7.2, "cpu_pct": 0.0}
    shares = throughput_shares.follows(of_figures({**seen, **cores}))
    assert shares["client_bound"] == pytest.approx(10.0)


def test_who_holds_a_lock_waits_for_a_full_cpu() -> None:
    locked = {"sessions": 8.0, "seen_locked_pct": 60.0, "seen_running_pct": 40.0}
    free = throughput_shares.follows(of_figures({**locked, "cpu_pct": 84.99}))
    full = throughput_shares.follows(of_figures({**locked, "cpu_pct": 85.0}))
    assert free["contention"] > 50
    assert "contention" not in full


# ------------------------------------------------------------------ two shipped runs at smoke scale

V2 = build_tier("premium-v2")
POINT_SELECT: Mapping[str, float] = {
    "iops_of_cap_pct": 100.0,
    "time_at_iops_cap_pct": 100.0,
    "bandwidth_of_cap_pct": 33.0,
    "time_at_bandwidth_cap_pct": 0.0,
    "disk_iops": 9_990.0,
    "disk_bytes_per_s": 82e6,
    "disk_await_s": 0.00159,  # 16 threads at 10,000 IOPS: 1.99 times the idle disk's
    "idle_disk_latency_s": 0.0008,
    "disk_queue_depth": 15.9,
    "disk_busy_pct": 99.0,
    "sessions_reading_pct": 92.0,
    "cpu_pct": 61.0,
    "host_cpu_pct": 70.0,
}
TPCC: Mapping[str, float] = {
    "iops_of_cap_pct": 33.0,
    "bandwidth_of_cap_pct": 15.0,
    "disk_iops": 3_360.0,
    "disk_await_s": 0.0013,
    "idle_disk_latency_s": 0.0008,
    "disk_queue_depth": 4.4,
    "disk_busy_pct": 91.0,
    "sessions_reading_pct": 50.0,
    "log_syncing_pct": 39.0,
    "memory_pressure_pct": 8.0,
    "cpu_pct": 42.0,
    "host_cpu_pct": 60.0,
}


def test_a_full_cap_binds_although_few_threads_hardly_queue() -> None:
    """15.9 in flight ÷ 0.8 ms idle = 19,900 a second without the cap, which is twice the cap."""
    found = node_cause.judge(of_figures(POINT_SELECT), V2, "node-1")
    assert found.name == "iops_cap", found.text
    assert "A tier with more IOPS would help" in found.text


@pytest.mark.parametrize(
    ("in_flight", "verdict"),
    [(10.1, "iops_cap"), (9.8, "unattributed"), (8.0, "unattributed")],
)
def test_a_full_cap_binds_where_without_it_a_quarter_more_would_be_done(
    in_flight: float, verdict: str
) -> None:
    """÷ 0.8 ms: 12,600, 12,250 and 10,000 a second against a cap of 10,000. In the last case the
    cap holds nothing back: without it as many would be done."""
    figures = {
        **POINT_SELECT,
        "disk_queue_depth": in_flight,
        "disk_await_s": in_flight / 9_990.0,
    }
    found = node_cause.judge(of_figures(figures), V2, "node-1")
    assert found.name == verdict, found.text


def test_a_full_bandwidth_cap_binds_by_what_is_in_flight_too() -> None:
    """64 KiB each: 3,815 a second are 250 MB/s; 6 in flight ÷ 0.8 ms would be 491 MB/s."""
    figures = {
        **POINT_SELECT,
        "iops_of_cap_pct": 38.0,
        "bandwidth_of_cap_pct": 100.0,
        "time_at_bandwidth_cap_pct": 100.0,
        "disk_iops": 3_815.0,
        "disk_bytes_per_s": 250e6,
        "disk_queue_depth": 6.0,
        "disk_await_s": 0.00157,
    }
    assert node_cause.judge(of_figures(figures), V2, "node-1").name == "bandwidth_cap"


AT_BANDWIDTH = {"bandwidth_of_cap_pct": 99.0, "disk_await_s": 0.02}
VM_LIMITS: tuple[VmLimit, ...] = get_args(VmLimit)
BURSTING = {"burst_credit_left_pct": 30.0, "time_above_base_pct": 50.0}


@pytest.mark.parametrize(
    ("figures", "limit"),
    [
        (AT_CAP, "IOPS"),
        (AT_BANDWIDTH, "throughput"),
        (AT_CAP | BURSTING, "burst IOPS"),
        (AT_BANDWIDTH | BURSTING, "burst throughput"),
        # Without credit, or above the base in less than half of the seconds, it is no burst.
        (AT_BANDWIDTH | BURSTING | {"burst_credit_left_pct": 0.0}, "throughput"),
        (AT_BANDWIDTH | BURSTING | {"time_above_base_pct": 49.9}, "throughput"),
        (AT_CAP | BURSTING | {"time_above_base_pct": 49.9}, "IOPS"),
    ],
)
def test_the_limit_of_the_machine_is_named_that_was_reached(
    figures: Mapping[str, float], limit: str
) -> None:
    # The sentence is shown, and is not read for which limit it is of.
    caps = [VmCap(name, f"the machine lets through less {name}") for name in VM_LIMITS]
    cause = judged(figures, changed(TIER, vm_caps=tuple(caps)))
    assert cause.name == "vm_cap"
    assert f"the machine's limit (the machine lets through less {limit})" in cause.text
    without = [cap for cap in caps if cap.limit != limit]
    cause = judged(figures, changed(TIER, vm_caps=tuple(without)))
    assert cause.name in ("iops_cap", "bandwidth_cap")
    assert "the machine's limit" not in cause.text


# Which values say for how much of the window a cause held; of several the highest.
HELD_BY: Mapping[BottleneckCause, set[str]] = {
    "iops_cap": {
        "time_at_iops_cap_pct",
        "disk_iops_limit_reached_pct",
        "volume_iops_exceeded_pct",
    },
    "bandwidth_cap": {
        "time_at_bandwidth_cap_pct",
        "disk_bandwidth_limit_reached_pct",
        "volume_bandwidth_exceeded_pct",
    },
    "vm_cap": {
        "machine_iops_limit_reached_pct",
        "machine_bandwidth_limit_reached_pct",
        "instance_iops_exceeded_pct",
        "instance_bandwidth_exceeded_pct",
        "time_at_iops_cap_pct",
        "time_at_bandwidth_cap_pct",
        "time_at_machine_iops_cap_pct",
        "time_at_machine_bandwidth_cap_pct",
    },
    "latency_bound": {"sessions_reading_pct", "log_syncing_pct"},
    "cpu_bound": {"time_at_cpu_pct", "throttled_pct"},
    "wal_disk_bound": {"wal_disk_syncing_pct"},
    "memory_bound": {"memory_pressure_pct"},
    "network_bound": {"time_at_network_rate_pct", "seen_idle_pct"},
    "contention": {"seen_locked_pct"},
    "few_sessions": {"seen_running_pct"},
}


def test_for_how_long_a_cause_held_is_read_from_its_own_values() -> None:
    found: dict[BottleneckCause, set[str]] = {}
    for cause in get_args(BottleneckCause):
        for name in NAMES:
            values = of_figures({name: 37.0})
            if bottlenecks.held_pct(cause, values) == 37.0:
                found.setdefault(cause, set()).add(name)
    assert found == HELD_BY


@pytest.mark.parametrize(
    ("reading_pct", "syncing_pct", "held_pct"),
    [
        # Of the time in which a session does not read, so much falls into a sync.
        (40.0, 50.0, 70.0),
        (150.0, 50.0, 100.0),
        (40.0, 150.0, 100.0),
    ],
)
def test_sessions_wait_for_the_disk_for_no_more_than_all_of_the_time(
    reading_pct: float, syncing_pct: float, held_pct: float
) -> None:
    values = of_figures(
        {"sessions_reading_pct": reading_pct, "log_syncing_pct": syncing_pct}
    )
    assert bottlenecks.held_pct("latency_bound", values) == held_pct


def test_reading_back_what_memory_could_not_hold_is_the_disk_s_latency() -> None:
    found = node_cause.judge(of_figures(TPCC), V2, "node-1")
    assert found.name == "latency_bound", found.text
    assert "More memory would help too" in found.text
    assert "tasks waited for it 8 % of the time" in found.text


def test_memory_is_said_beside_a_cap_too_and_only_under_pressure() -> None:
    values = of_figures(dict(**POINT_SELECT, memory_pressure_pct=8.0))
    pressed = node_cause.judge(values, V2, "node-1")
    assert pressed.name == "iops_cap"
    assert "More memory would help too" in pressed.text
    assert "memory" not in node_cause.judge(of_figures(POINT_SELECT), V2, "node-1").text


def test_memory_is_the_limit_only_where_no_faster_disk_would_help() -> None:
    alone = judged({"memory_pressure_pct": 30.0, "disk_busy_pct": 10.0})
    assert (alone.name, "More memory would help" in alone.text) == (
        "memory_bound",
        True,
    )
    unknown = judged({"memory_pressure_pct": 30.0}, without="disk_busy_pct")
    assert unknown.name == "unattributed"
    assert "waiting for memory 30 %" in unknown.text


def test_at_the_cap_says_how_long_where_and_how_slow() -> None:
    assert judged({**AT_CAP, "disk_iops": 1_095.0}).text == (
        "At the IOPS cap 71 % of the time on node-2 (1,095 IOPS), each I/O taking 15 ms instead "
        "of 2 ms. A tier with more IOPS would help."
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cpu_pct", 95),
        ("client_cpu_pct", 85),
        ("host_cpu_pct", 95),
        ("nopm_of_ceiling_pct", 99),
    ],
)
def test_says_where_a_faster_disk_would_not_help(name: str, value: float) -> None:
    """Only where the database counts how long sessions wait for the disk, and they hardly do."""
    idle = {"sessions_reading_pct": 0.9, "log_syncing_pct": 1.0}
    assert judged({name: value, **idle}).is_no_disk
    if (
        name != "nopm_of_ceiling_pct"
    ):  # there throughput is at most 5 % from what was asked for
        for waiting in ({}, {"sessions_reading_pct": 2.5}):
            assert not judged({name: value, **waiting}).is_no_disk


SLOW = {
    "disk_await_s": 0.0606,
    "disk_busy_pct": 100.0,
    "disk_iops": 495.0,
    "iops_of_cap_pct": 10.0,
}
HEALTHY = {
    "disk_await_s": 0.001,
    "disk_busy_pct": 60.0,
    "disk_iops": 505.0,
    "iops_of_cap_pct": 11.0,
}


@pytest.mark.parametrize(
    ("own", "found"),
    [
        ({}, True),
        ({"disk_iops": 2_000.0}, False),  # it does four times as much
        ({"disk_iops": 631.25}, True),  # 1.25 times as much is no more
        ({"disk_iops": 631.5}, False),
        ({"disk_await_s": 0.0029}, False),
        ({"disk_await_s": 0.003}, True),
        ({"disk_busy_pct": 69.9}, False),
        ({"disk_busy_pct": 70.0}, True),
        ({"iops_of_cap_pct": 79.9}, True),
        ({"iops_of_cap_pct": 80.0}, False),  # its cap, which has a name of its own
        ({"idle_disk_latency_s": 0.0303}, True),
        ({"idle_disk_latency_s": 0.0304}, False),  # of a mix of its own, as declared
    ],
)
def test_a_node_apart_from_its_peers_is_named(
    own: dict[str, float], found: bool
) -> None:
    healthy = of_figures(HEALTHY)
    third = of_figures(dict(**{**SLOW, **own}))
    nodes = {"node-1": healthy, "node-2": healthy, "node-3": third}
    slow = slow_nodes.slow_node(nodes)
    assert (slow is not None) == found
    if slow is not None:
        assert slow.name == "node-3"
        await_s = own.get("disk_await_s", 0.0606)
        begin = (
            f"Each I/O on node-3 takes {await_s * 1e3:g} ms, on the other nodes 1 ms"
        )
        assert slow.cause.text.startswith(begin)


def test_a_slow_node_is_the_cause_whatever_its_share_of_a_cap() -> None:
    """Of three nodes at a tenth of their caps; the busiest by its share is a healthy one."""
    campaign = build_campaign(profiles=["ultra"], workloads=["tpcc"], repetitions=1)
    assert bottlenecks.bottlenecks(campaign)[0].cause != "slow_node"
    (run,) = campaign.runs
    samples = sampled_in(run)
    waited = samples["metric"].isin(
        ["disk_read_seconds_total", "disk_write_seconds_total"]
    )
    samples.loc[waited & (samples["node"] == "node-3"), "value"] *= 40.0
    busy = (samples["metric"] == "disk_busy_seconds_total") & (
        samples["node"] == "node-3"
    )
    started = samples.loc[busy, "time_s"] - samples["time_s"].min()
    samples.loc[busy, "value"] = started
    slow = RunData(run.record, run.read_intervals, held(samples))
    (found,) = bottlenecks.bottlenecks(replace(campaign, runs=(slow,)))
    assert (found.cause, found.node) == ("slow_node", "node-3")


@pytest.mark.parametrize("claim", [NO_FASTER_DISK, "In other words, none."])
@pytest.mark.parametrize("cause", ["cpu_bound", "client_bound", "network_bound"])
def test_the_claim_that_a_faster_disk_gives_nothing_is_held_against_the_campaign(
    cause: BottleneckCause, claim: str
) -> None:
    said = "More would raise throughput."
    limit = Bottleneck(
        "premium", "insert", "node-1", cause, said, {}, faster_disk=claim
    )

    def held(high_pct: float) -> str:
        change = Change(
            "throughput_per_s", "all", "throughput", "ultra", -6.0, -9.0, high_pct
        )
        prices = (None, None, "", "", None, "", "", "")
        offer = Offer("premium", "not enough", *prices, (change,), ())
        made = Decision("insert", None, "", None, None, offers=(offer,))
        return verdicts.held_against(limit, [made]).in_words

    assert held(-2.6) == (
        "More would raise throughput. A faster disk would raise throughput: against "
        "ultra −6.0 % (−9.0 % to −2.6 %)."
    )
    assert held(1.0) == f"{said} {claim}"


def test_the_machine_as_limit_names_who_used_it() -> None:
    text = judged(
        {"host_cpu_pct": 96.0, "client_cpu_pct": 30.0, "disk_server_cpu_pct": 25.0}
    ).text
    assert (
        "96 % of the machine's CPU busy (load generator 30 %, emulated disks 25 %)"
        in text
    )


@pytest.mark.parametrize("rival", ["host_cpu_pct", "client_cpu_pct", "cpu_pct"])
def test_two_limits_within_five_percent_are_not_told_apart(rival: str) -> None:
    close = judged({**AT_CAP, rival: 96.0})
    assert close.name == "unattributed"
    assert "cannot be told apart" in close.text
    assert judged({**AT_CAP, rival: 93.0}).name == "iops_cap"


def test_a_busy_disk_of_unknown_idle_latency_is_waited_for() -> None:
    busy = judged({"disk_busy_pct": 95.0}, without="idle_disk_latency_s")
    assert busy.name == "latency_bound"


def test_with_unknown_idle_latency_the_queue_decides() -> None:
    deep = judged({**AT_CAP, "disk_queue_depth": 2.5}, without="idle_disk_latency_s")
    shallow = judged({**AT_CAP, "disk_queue_depth": 1.5}, without="idle_disk_latency_s")
    assert (deep.name, shallow.name) == ("iops_cap", "unattributed")
    assert "instead of" not in deep.text


def test_what_was_not_sampled_is_no_limit() -> None:
    values = of_figures({"disk_iops": 90_000.0, "cpu_pct": 60.0})
    without_caps = node_cause.judge(values, TIER, "node-1")
    assert without_caps.name == "unattributed"
    nothing = "Neither disk nor CPU of the database nodes was sampled."
    assert node_cause.judge(Evidence(), TIER, "") == Cause("unattributed", nothing)


def test_at_the_ceiling_of_think_time_and_of_the_disk() -> None:
    found = judged({**AT_CAP, "nopm_of_ceiling_pct": 98.0})
    assert found.name == "iops_cap"
    assert "shows in latency" in found.text


# ------------------------------------------------------------------ whole runs


def only(shape: Shape, tier: str = "premium", **more: object) -> RunData:
    campaign = build_campaign(
        profiles=[tier],
        workloads=["point-select"],
        repetitions=1,
        shapes={(tier, "point-select"): shape},
        **more,  # type: ignore[arg-type]
    )
    return campaign.runs[0]


def test_campaign_names_the_study_s_limits() -> None:
    found = {
        (b.profile, b.workload): b.cause
        for b in bottlenecks.bottlenecks(build_campaign(repetitions=1, nodes=1))
    }
    assert found["premium", "point-select"] == "iops_cap"
    assert found["ultra", "point-select"] == "cpu_bound"
    assert found["premium", "insert"] == "cpu_bound"
    assert found["ultra", "tpcc"] == "latency_bound"
    assert len(found) == 9


def test_evidence_of_a_run_at_its_cap() -> None:
    run = only(Shape(1500.0, 1095.0, 3.0, 0.016, 40.0), nodes=1)
    values = node_use.gather(run, 32.0)["node-1"].sampled()
    assert values["iops_of_cap_pct"] == pytest.approx(99.8, abs=0.6)
    assert values["time_at_iops_cap_pct"] > 95
    assert values["idle_disk_latency_s"] == pytest.approx(0.002)
    near = {"disk_await_s": 0.016, "io_size_bytes": 16_384, "cpu_pct": 40.0}
    assert {name: values[name] for name in near} == pytest.approx(near, rel=0.01)


def test_the_busiest_node_is_judged() -> None:
    run = only(Shape(1500.0, 1095.0, 3.0, 0.016, 40.0), nodes=3)
    quiet = sampled_in(run).copy()
    disk = quiet["metric"].str.startswith("disk_") & quiet["node"].isin(
        ["node-1", "node-3"]
    )
    quiet.loc[disk, "value"] = 0.0
    found = bottlenecks.bottleneck([replace(run, sampled=held(quiet))], 32.0)
    assert found is not None
    assert (found.node, found.cause) == ("node-2", "iops_cap")


def test_medians_over_repetitions() -> None:
    cell = ("premium", "point-select")
    slow, fast = (
        Shape(1500.0, 1098.0, 1.0, 0.016, 40.0),
        Shape(1500.0, 300.0, 1.0, 0.002, 40.0),
    )
    runs = [only(shape, nodes=1) for shape in (slow, slow, fast)]
    found = bottlenecks.bottleneck(runs, 32.0)
    assert found is not None
    assert (found.profile, found.workload) == cell
    assert found.cause == "iops_cap"
    assert bottlenecks.bottleneck(runs[2:], 32.0) != found
    assert bottlenecks.bottleneck([], 32.0) is None


def test_large_ios_count_as_several() -> None:
    """1 MiB on a tier that counts 256 KiB each: 300 I/Os a second are 1,200 of its 1,100."""
    run = only(Shape(100.0, 300.0, 0.0, 0.02, 20.0, bytes_per_io=2**20), nodes=1)
    found = disk_seconds.demand(
        run.record.profile.tier, rates_of(sampled_in(run)), "node-1"
    )
    assert float(np.median(found.rates["iops"])) == pytest.approx(1_200, rel=0.02)


def test_a_window_with_a_slow_disk_does_not_say_what_limits_the_tier() -> None:
    campaign = build_campaign()
    cell = campaign.runs[0]
    plain = bottlenecks.bottleneck([cell], None)
    assert plain is not None and plain.verdict != "unattributed"
    slow = (SlowDisk("node-1", "share", 10.0, 5.0),)
    record = replace(cell.record, workload=replace(cell.record.workload, slow=slow))
    told = bottlenecks.bottleneck([replace(cell, record=record)], None)
    assert told is not None and told.verdict == "unattributed"
    assert told.text.startswith("A disk was made slow in the window")

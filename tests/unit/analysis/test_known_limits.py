"""Limits known by construction, as whole runs: each has its truth, and must have its name.

The truth is the change of throughput when one thing is made a quarter better
(`tests/bench/simulated_system.py`): of what is named it must be no less than of anything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import pytest

from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes import bottlenecks, node_cause
from orchestrator.analysis.telemetry.causes.cause import Cause
from orchestrator.analysis.telemetry.use.node_values import of_figures
from orchestrator.tier import Burst, Limits, VmCap
from tests.bench.simulated_system import SLOW, System, gains_pct, simulated
from tests.campaign_tables import held, sampled_in
from tests.campaigns import START_S, build_tier
from tests.seen import but
from tests.tiers import changed

CAPPED = replace(SLOW, iops=200)
ROW = replace(SLOW, reads=0.0, commits=1.0, hot=1.0)
MEMORY = replace(SLOW, reads=0.0)
# Limit → the system, its name, and which thing a quarter better gives most.
LIMITS: Mapping[str, tuple[System, str, str]] = {
    "IOPS cap": (CAPPED, "iops_cap", "iops"),
    "bandwidth cap": (replace(SLOW, bytes_per_s=2e6), "bandwidth_cap", "bandwidth"),
    "latency": (replace(SLOW, latency_s=0.05), "latency_bound", "latency"),
    "CPU of the node": (replace(SLOW, cores=2, sessions=32), "cpu_bound", "cpu"),
    "client": (replace(SLOW, client_s=0.05, sessions=32), "client_bound", "client"),
    "one core of the client": (
        replace(SLOW, client_s=0.02, client_cores=1, sessions=32),
        "client_bound",
        "client",
    ),
    "network, bytes/s": (
        replace(SLOW, link_bytes_per_s=1e5, sessions=32),
        "network_bound",
        "network",
    ),
    "network, round trip": (
        replace(MEMORY, round_trip_s=0.05),
        "network_bound",
        "network",
    ),
    "hot row over the log's sync": (ROW, "contention", "lock"),
    "hot row over CPU": (
        replace(ROW, latency_s=0.002, under_lock_s=0.02),
        "contention",
        "lock",
    ),
    "memory, CPU": (replace(MEMORY, cores=2, sessions=32), "cpu_bound", "cpu"),
    "log sync": (replace(MEMORY, cpu_s=0.002, commits=1.0), "latency_bound", "latency"),
    "cap at times": (
        replace(
            SLOW, sessions=8, iops=300, reads=1.0, written_back=800.0, window_s=30.0
        ),
        "iops_cap",
        "iops",
    ),
    "cap at 9 of 10 beside a full CPU": (
        replace(SLOW, cores=2, cpu_s=0.02, reads=2.0, sessions=32, iops=225),
        "cpu_bound",
        "cpu",
    ),
}
# All things that may be better but the number of sessions, which is the load's.
RESOURCES = ("iops", "bandwidth", "latency", "cpu", "client", "network", "lock")


def named(run: RunData) -> Bottleneck:
    limit = bottlenecks.bottleneck([run], None)
    assert limit is not None
    return limit


@pytest.mark.parametrize("name", LIMITS)
def test_a_known_limit_has_its_name(name: str) -> None:
    system, cause, thing = LIMITS[name]
    _, run = simulated(system)
    limit = named(run)
    assert limit.cause == cause, limit.text
    gains = gains_pct(system, things=RESOURCES)
    assert gains[thing] >= max(5.0, max(gains.values()) - 2.5), gains


def test_a_cap_that_binds_at_times_is_named_with_its_share() -> None:
    limit = named(simulated(LIMITS["cap at times"][0])[1])
    assert 25 <= limit.evidence["held_pct"] <= 75
    assert (
        f"At the IOPS cap {limit.evidence['held_pct']:.0f} % of the time" in limit.text
    )


BURSTS = System(
    cpu_s=0.008,
    reads=8.0,
    iops=1_000,
    latency_s=0.005,
    sessions=5,
    written_back=150.0,
    written_each_s=0.3,
)


def test_a_cap_that_bursts_of_less_than_a_second_reach_is_told_as_that() -> None:
    limit = named(simulated(BURSTS)[1])
    assert (limit.cause, limit.evidence["held_pct"]) == ("iops_cap", 0.0)
    assert "Bursts shorter than a second may reach it" in limit.text, limit.text
    gains = gains_pct(BURSTS, things=("iops", "latency"))
    assert gains["iops"] > gains["latency"] + 5 > 10, gains


def test_what_is_written_back_does_not_make_a_cap_of_it_where_latency_gives_more() -> (
    None
):
    system = replace(BURSTS, sessions=3, written_back=90.0)
    limit = named(simulated(system)[1])
    assert limit.cause != "iops_cap", limit.text
    gains = gains_pct(system, things=("iops", "latency"))
    assert gains["latency"] > gains["iops"] + 5, gains


# TPC-C-derived on an emulated Ultra Disk of 10,000 IOPS, two runs of 60 s on two busy cores: trials
# gave 0.33 (-0.01 to 0.66) of IOPS, 0.43 (0.09 to 0.76) of the disk's latency, 0.06 and less of the
# others (`--confirm`).
WRITTEN_BACK = {
    "iops_of_cap_pct": 73.51,
    "time_at_iops_cap_pct": 0.0,
    "bandwidth_of_cap_pct": 31.53,
    "time_at_bandwidth_cap_pct": 0.0,
    "disk_iops": 7308.0,
    "disk_read_iops": 3556.0,
    "disk_bytes_per_s": 79580000.0,
    "disk_await_s": 0.001376,
    "disk_read_await_s": 0.0008136,
    "idle_disk_latency_s": 0.0005,
    "disk_queue_depth": 10.04,
    "disk_busy_pct": 94.63,
    "cpu_pct": 43.11,
    "time_at_cpu_pct": 0.0,
    "node_cores": 0.4311,
    "client_cpu_pct": 3.267,
    "client_cores": 0.06534,
    "host_cpu_pct": 85.58,
    "sessions": 16.0,
    "seen_idle_pct": 0.8854,
    "seen_running_pct": 1.406,
    "seen_reading_pct": 94.06,
    "seen_syncing_pct": 1.615,
    "seen_locked_pct": 2.031,
    "sessions_reading_pct": 43.76,
    "log_syncing_pct": 27.7,
}


def test_reads_behind_what_is_written_back_follow_cap_and_latency_alike() -> None:
    cause = node_cause.judge(of_figures(WRITTEN_BACK), build_tier("ultra"), "node-1")
    assert cause.name == "unattributed"
    assert "the disk's latency and the disk's IOPS" in cause.text
    assert "a tier that raises both would help" in cause.text


def declared(run: RunData, bytes_per_s: int) -> RunData:
    """The run, read anew as one whose profile says how fast its links are."""
    profile = run.record.profile
    cluster = replace(profile.cluster, network_bytes_per_s=bytes_per_s)
    record = replace(run.record, profile=replace(profile, cluster=cluster))
    return replace(run, record=record, sampled=held(sampled_in(run)))


def test_a_link_at_its_declared_rate_is_named_by_its_bytes_and_one_that_is_not_by_waits() -> (
    None
):
    _, run = simulated(LIMITS["network, bytes/s"][0])
    limit = named(declared(run, 100_000))
    assert limit.cause == "network_bound", limit.text
    assert "at its declared rate" in limit.text and "packets/s" in limit.text
    assert limit.evidence["held_pct"] == limit.evidence["time_at_network_rate_pct"] > 75
    other = named(declared(run, 200_000))
    assert other.cause == "network_bound" and "at its declared rate" not in other.text
    assert 40 < other.evidence["network_of_rate_pct"] < 60
    assert "network_of_rate_pct" not in named(run).evidence


@pytest.mark.parametrize(
    ("speeds", "cause"),
    [((1e5,), "card"), ((5e4, 5e4), "card"), ((2e5,), "waits"), ((1e5, 0.0), "waits")],
)
def test_where_no_rate_is_declared_the_speed_of_the_cards_stands_for_it(
    speeds: tuple[float, ...], cause: str
) -> None:
    """Of all of them together; unknown if one does not say its own."""
    _, run = simulated(LIMITS["network, bytes/s"][0])
    cards = {f"eth{number}": speed for number, speed in enumerate(speeds)}
    nodes = tuple(replace(node, cards=cards) for node in run.record.nodes)
    record = replace(run.record, nodes=nodes)
    limit = named(replace(run, record=record, sampled=held(sampled_in(run))))
    assert limit.cause == "network_bound"
    assert ("the speed that its network cards report" in limit.text) == (
        cause == "card"
    )
    assert ("network_of_rate_pct" in limit.evidence) == all(speeds)
    if cause == "card":
        assert (
            limit.evidence["held_pct"]
            == limit.evidence["time_at_network_rate_pct"]
            > 75
        )
        assert "(0.800 Mbit/s)" in limit.text and "sent again" not in limit.text
        both = named(declared(replace(run, record=record), 100_000))
        assert "at its declared rate" in both.text and "sent again" in both.text


def test_a_full_link_and_a_full_disk_are_not_told_apart() -> None:
    _, run = simulated(CAPPED)
    sent = named(run).evidence["network_sent_bytes_per_s"]
    limit = named(declared(run, round(sent)))
    assert limit.cause == "unattributed", limit.text
    assert limit.text.startswith("Disk and network were both at their limit")


def test_the_next_limit_is_named_with_its_distance() -> None:
    limit = named(simulated(LIMITS["latency"][0])[1])
    assert limit.evidence["ahead_pct"] > 50
    assert "Throughput follows it by about" in limit.text


def test_few_sessions() -> None:
    """Nothing is full, and no single wait is most of the time: more sessions give most."""
    system = replace(SLOW, sessions=4, reads=1.0, round_trip_s=0.015, cpu_s=0.02)
    limit = named(simulated(system)[1])
    assert limit.cause == "few_sessions", limit.text
    assert "Its 4 sessions spent their time computing" in limit.text
    gains = gains_pct(system)
    assert max(gains, key=lambda thing: gains[thing]) == "sessions", gains


def test_data_in_memory_and_few_sessions() -> None:
    """No disk gives anything there, whatever it is."""
    system = replace(MEMORY, sessions=4, cpu_s=0.02)
    limit = named(simulated(system)[1])
    assert limit.cause == "in_cache", limit.text
    gains = gains_pct(system, things=("iops", "bandwidth", "latency"))
    assert max(gains.values()) < 1


def without_sessions(run: RunData) -> RunData:
    """The run of a database whose sessions nothing samples, as those of YugabyteDB."""
    samples = sampled_in(run)
    of_sessions = samples["metric"].str.startswith("sessions_")
    return replace(run, sampled=held(samples[~of_sessions]))


@pytest.mark.parametrize(
    ("name", "causes_that_are_false"),
    [("hot row over the log's sync", ()), ("hot row over CPU", ("in_cache",))],
)
def test_locks_that_nobody_counted_are_not_said_to_be_absent(
    name: str, causes_that_are_false: tuple[str, ...]
) -> None:
    system, _, _ = LIMITS[name]
    limit = named(without_sessions(simulated(system)[1]))
    assert limit.cause not in causes_that_are_false, limit.text
    assert "more sessions" not in limit.text.lower(), limit.text
    assert gains_pct(system, things=("sessions",))["sessions"] < 2.5


def test_locks_are_said_to_be_possible_where_sessions_were_not_seen() -> None:
    system, _, _ = LIMITS["hot row over CPU"]
    limit = named(without_sessions(simulated(system)[1]))
    assert limit.cause == "unattributed", limit.text
    assert "it may be locks" in limit.text


def test_a_core_that_others_may_fill_is_not_the_load_generator_s() -> None:
    """One thread of it may be the limit, or what else is busy there: nothing is named."""
    _, run = simulated(LIMITS["one core of the client"][0])
    samples = sampled_in(run)
    away = (samples["node"] == "away") & (samples["metric"] == "cpu_busy_seconds_total")
    samples.loc[away, "value"] += samples["time_s"][away] - samples["time_s"].min()
    limit = named(replace(run, sampled=held(samples)))
    assert "client_core_pct" not in limit.evidence
    assert limit.cause == "unattributed", limit.text


def test_a_load_generator_that_uses_up_its_quota_is_the_limit() -> None:
    """Of its machine it uses little, and of a quota that somebody else set nothing is recorded."""
    _, run = simulated(LIMITS["network, round trip"][0])
    samples = sampled_in(run)
    used = samples[
        (samples["node"] == "client") & (samples["metric"] == "cpu_seconds_total")
    ]
    seconds = used["time_s"] - used["time_s"].min()
    for throttled, cause in ((9.0, "client_bound"), (1.0, "network_bound")):
        quota = [used.assign(metric="cpu_periods_total", value=10 * seconds)]
        quota += [
            used.assign(metric="cpu_throttled_periods_total", value=throttled * seconds)
        ]
        table = pd.concat([samples, *quota], ignore_index=True)
        limit = named(replace(run, sampled=held(table)))
        assert limit.cause == cause, limit.text


def of_ultra(values: Mapping[str, float]) -> Cause:
    return node_cause.judge(of_figures(values), build_tier("ultra"), "node-1")


def test_a_session_that_waits_for_cpu_may_call_itself_idle() -> None:
    """So it was seen of a node at its quota: what had been sent to it had not been read yet."""
    seen = {"sessions": 8.0, "seen_idle_pct": 94.0, "seen_running_pct": 6.0}
    client = {"client_cores": 0.3, "client_cpu_pct": 15.0, "host_cpu_pct": 70.0}
    node = {"disk_iops": 3.0, "node_cores": 1.0, "cpu_pct": 99.9, "throttled_pct": 98.0}
    full = of_ultra(seen | client | node)
    assert full.name == "cpu_bound", full.text
    free = node | {"node_cores": 0.3, "cpu_pct": 30.0, "throttled_pct": 0.0}
    network = of_ultra(seen | client | free)
    assert network.name == "network_bound", network.text
    crowded = {"low_priority_pct": 28.0, "other_cpu_pct": 5.0}
    machine = of_ultra(seen | client | free | crowded)
    assert machine.name == "unattributed", (
        "work of low priority does not always give way"
    )


def test_a_served_rate() -> None:
    system = replace(SLOW, rate_per_s=100.0)
    throughput_per_s, run = simulated(system)
    assert throughput_per_s == pytest.approx(100, rel=0.1)
    limit = named(run)
    assert limit.cause == "load_bound", limit.text
    assert max(gains_pct(system).values()) < 2


def test_two_limits_that_are_close_are_not_told_apart() -> None:
    """Half of the time on the way to the load generator, half at the disk, beside a CPU that has
    not much room for more sessions."""
    seen = {"seen_idle_pct": 46.0, "seen_reading_pct": 44.0, "seen_running_pct": 10.0}
    values = {
        **seen,
        "sessions": 64.0,
        "disk_iops": 900.0,
        "cpu_pct": 75.0,
        "node_cores": 6.0,
    }
    close = of_ultra(values)
    assert (close.name, close.ahead_pct) == ("unattributed", None)
    assert "told apart: the network and the disk's latency" in close.text
    apart = of_ultra(values | {"seen_reading_pct": 38.0})
    assert apart.name == "network_bound"
    reading = values | {"seen_reading_pct": 47.0, "cpu_pct": 60.0}
    room = of_ultra(reading)
    assert room.name == "few_sessions", "neither is most of the time"
    turns = {
        "time_at_cpu_pct": 40.0,
        "time_at_iops_cap_pct": 40.0,
        "disk_queue_depth": 8.0,
    }
    queued = {
        "disk_await_s": 0.005,
        "disk_read_await_s": 0.005,
        "idle_disk_latency_s": 0.0005,
    }
    capped = {"seen_reading_pct": 70.0, "seen_running_pct": 30.0, "seen_idle_pct": 0.0}
    both = of_ultra(values | turns | queued | capped)
    assert (
        both.name == "unattributed"
        and "the node's CPU and the disk's IOPS" in both.text
    )


# ------------------------------------------------------------------ what the simulation has not


def test_a_burst_that_was_emptied_before_the_window() -> None:
    """IOPS at the base rate, in some seconds a little below it, and a peak that is out of reach."""
    _, run = simulated(CAPPED)
    tier = changed(run.record.profile.tier, burst=Burst(2_000, None, 100.0, 1.0))
    record = replace(run.record, profile=replace(run.record.profile, tier=tier))
    limit = named(replace(run, record=record))
    assert limit.cause == "iops_cap", limit.text


def test_a_limit_of_the_machine_is_not_the_disk_s() -> None:
    text = "Standard_D2s_v5 lets through 200 of the 5,000 that the disks could give"
    caps = (VmCap("IOPS", text),)
    _, run = simulated(CAPPED)
    tier = changed(run.record.profile.tier, vm_caps=caps)
    limit = named(
        replace(
            run,
            record=replace(run.record, profile=replace(run.record.profile, tier=tier)),
        )
    )
    assert limit.cause == "vm_cap"
    assert (
        "a larger machine would help" in limit.text and "A tier with" not in limit.text
    )


def test_one_slow_node_of_three() -> None:
    """Node 3 does what the others do, each I/O of it five times as long."""
    _, run = simulated(SLOW)
    samples = sampled_in(run)
    own = samples[samples["node"] == "node-1"]
    disk = own[own["metric"].str.startswith(("disk_", "cpu_"))]
    slow = disk.assign(node="node-3")
    waited = slow["metric"].str.endswith("_seconds_total") & slow[
        "metric"
    ].str.startswith("disk_")
    slow.loc[waited, "value"] *= 5.0
    busy = slow["metric"] == "disk_busy_seconds_total"
    slow.loc[busy, "value"] = slow.loc[busy, "time_s"] - START_S + 5
    first = next(node for node in run.record.nodes if node.role == "database")
    more = tuple(
        replace(first, name=f"node-{number}", device=f"loop{number}")
        for number in (2, 3)
    )
    record = replace(run.record, nodes=(*run.record.nodes, *more))
    tables = [samples, disk.assign(node="node-2"), slow]
    limit = named(
        RunData(record, run.read_intervals, held(pd.concat(tables, ignore_index=True)))
    )
    assert (limit.cause, limit.node) == ("slow_node", "node-3")


def test_a_busy_machine_and_one_whose_host_gives_its_cpu_away() -> None:
    _, run = simulated(SLOW)
    for metric, used in (
        ("cpu_busy_seconds_total", 15.5),
        ("cpu_steal_seconds_total", 14.5),
    ):
        samples = sampled_in(run)
        of_host = samples["node"] == "host"
        host = samples[of_host & (samples["metric"] == "cpu_busy_seconds_total")]
        seconds = host["time_s"] - host["time_s"].min()
        taken = host.assign(metric=metric, value=used * seconds)
        tables = [samples[~of_host | (samples["metric"] != metric)], taken]
        limit = named(replace(run, sampled=held(pd.concat(tables, ignore_index=True))))
        assert limit.cause == "machine_bound", limit.text
        assert ("gave 91 % to others" in limit.text) == (
            metric == "cpu_steal_seconds_total"
        )


def test_a_shared_limit_is_named_beside_a_machine_that_others_fill() -> None:
    """As two nodes that shared 80 IOPS were seen: sessions decide, by what they wait for."""
    values = {
        "disk_iops": 30.3,
        "disk_await_s": 0.0186,
        "idle_disk_latency_s": 0.001,
        "iops_of_cap_pct": 1.5,
        "time_at_iops_cap_pct": 0.0,
        "shared_iops_of_cap_pct": 100.0,
        "bandwidth_of_cap_pct": 0.3,
        "time_at_bandwidth_cap_pct": 0.0,
        "cpu_pct": 5.3,
        "node_cores": 0.05,
        "host_cpu_pct": 99.8,
        "other_cpu_pct": 94.5,
        "sessions": 8.0,
        "seen_syncing_pct": 100.0,
        "log_syncing_pct": 58.0,
        "disk_queue_depth": 0.56,
    }
    tier = replace(build_tier("premium"), shared=Limits(80))
    cause = node_cause.judge(of_figures(values), tier, "node-1")
    assert (
        cause.name == "shared_cap" and "100 % of the IOPS that they share" in cause.text
    )
    without = {name: value for name, value in values.items() if "shared" not in name}
    assert node_cause.judge(of_figures(without), tier, "node-1").name != "shared_cap"


def test_that_a_shared_limit_binds_is_not_said_where_a_node_s_own_caps_are_not_known() -> (
    None
):
    """A node with several disks is held against no cap; their I/Os do not queue."""
    values = of_figures(
        {
            "disk_iops": 80.0,
            "disk_await_s": 0.0015,
            "idle_disk_latency_s": 0.001,
            "disk_queue_depth": 0.6,
            "shared_iops_of_cap_pct": 100.0,
        }
    )
    tier = replace(build_tier("premium"), shared=Limits(80))
    assert node_cause.judge(values, tier, "node-1").name == "unattributed"
    queued = but(values, disk_await_s=0.0186)
    assert node_cause.judge(queued, tier, "node-1").name == "shared_cap"


def test_a_limit_of_all_disks_together_is_named_where_no_disk_is_at_its_own() -> None:
    _, run = simulated(CAPPED)

    def judged(iops: int) -> Bottleneck:
        limits = replace(run.record.profile.tier.limits, iops=1_000)
        tier = replace(run.record.profile.tier, limits=limits, shared=Limits(iops))
        profile = replace(run.record.profile, tier=tier)
        return named(replace(run, record=replace(run.record, profile=profile)))

    limit = judged(200)
    assert limit.cause == "shared_cap", limit.text
    assert "100 % of the IOPS that they share" in limit.text
    assert judged(400).cause != "shared_cap"

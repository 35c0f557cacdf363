"""What a disk counts of its own limits, second by second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes import bottlenecks
from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.counters.counter_series import Key, Steps
from orchestrator.analysis.telemetry.use import (
    disk_accounts,
    disk_cap_use,
    disk_seconds,
)
from orchestrator.analysis.telemetry.use.disk_seconds import DiskSeconds
from orchestrator.report.blocks import Charts
from orchestrator.report.charts.series import Runs
from orchestrator.report.sections import over_time
from tests.campaign_tables import Shape, held, sampled_in
from tests.campaigns import START_S, build_campaign
from tests.counted_disks import of_disk
from tests.judged import judged_index

BURSTS = Shape(184.0, 400.0, 100.0, await_s=0.004, cpu_pct=26.0)
# Seconds since the window began → seconds for which limits held I/Os back in each second.
HeldBack = Callable[[pd.Series], pd.Series]
EBS = (
    "ebs_volume_iops_exceeded_seconds_total",
    "ebs_volume_bandwidth_exceeded_seconds_total",
    "ebs_instance_iops_exceeded_seconds_total",
    "ebs_instance_bandwidth_exceeded_seconds_total",
)


def of_account(held_back_s: HeldBack, counters: tuple[str, ...] = ()) -> RunData:
    """A run of some seconds well below its caps, whose disk counts. I/Os take two seconds in
    each. `counters`: of an EBS volume instead."""
    (run,) = build_campaign(
        profiles=("premium",),
        workloads=("insert",),
        repetitions=1,
        shapes={("premium", "insert"): BURSTS},
    ).runs
    samples = sampled_in(run)
    reads = samples[samples["metric"] == "disk_reads_total"]
    window = run.record.phase("measure")
    assert window is not None
    seconds = reads["time_s"] - window.start_s
    tables = [samples]
    for metric in counters or ("disk_held_back_seconds_total",):
        counted = held_back_s(seconds)
        tables.append(reads.assign(metric=metric, unit="s", value=counted))
    if not counters:
        metric = "disk_served_seconds_total"
        tables.append(reads.assign(metric=metric, unit="s", value=2 * seconds))
    return replace(run, sampled=held(pd.concat(tables, ignore_index=True)))


def for_five_seconds(seconds: pd.Series) -> pd.Series:
    """1.5 of 2 s in each of the window's first five, and nothing later."""
    return 1.5 * seconds.clip(lower=0.0, upper=5.0) + 100.0


def never(seconds: pd.Series) -> pd.Series:
    return 0.0 * seconds


def rates_of_seconds(per_s: dict[str, float]) -> dict[Key, Steps]:
    """Of node-1, the same in each of the seconds that end at 101 to 104 s."""
    end_s = np.array([101.0, 102.0, 103.0, 104.0])
    phase = np.array(["measure"] * 4, dtype=object)
    rates: dict[Key, Steps] = {}
    for metric, rate in per_s.items():
        rates["node-1", metric] = Steps(end_s, np.ones(4), np.full(4, rate), phase)
    return rates


COUNTED = (counter_names.HELD_BACK_SECONDS, counter_names.SERVED_SECONDS)


def test_what_ends_as_a_window_begins_is_before_it() -> None:
    """Windows side by side share no second, and lose none."""
    rates = rates_of_seconds(dict.fromkeys(COUNTED, 1.0))
    steps = rates["node-1", COUNTED[0]]
    account = disk_accounts.of_node(rates, "node-1")
    disk = DiskSeconds(steps.end_s, {}, {}, None)
    for window, seconds in (((101.0, 103.0), 2), ((103.0, 104.0), 1)):
        assert steps.within(*window).size == seconds
        assert account.within(window).end_s.size == seconds
        assert disk.within(window).end_s.size == seconds


def test_where_nothing_was_answered_no_second_is_known() -> None:
    rates = rates_of_seconds({COUNTED[0]: 0.5, COUNTED[1]: 0.0})
    assert not disk_accounts.of_node(rates, "node-1").end_s.size


@pytest.mark.parametrize(("held_back_s", "time_pct"), [(0.199, 0.0), (0.2, 100.0)])
def test_a_second_is_held_back_from_a_tenth_of_its_i_os_time_on(
    held_back_s: float, time_pct: float
) -> None:
    """I/Os take two seconds in each."""
    (run,) = build_campaign(
        profiles=("premium",), workloads=("insert",), repetitions=1, frames=False
    ).runs
    io_counters = (
        counter_names.READS,
        counter_names.WRITES,
        counter_names.READ_BYTES,
        counter_names.WRITTEN_BYTES,
    )
    counts = dict(zip(COUNTED, (held_back_s, 2.0), strict=True))
    rates = rates_of_seconds({**dict.fromkeys(io_counters, 1.0), **counts})
    node = run.record.nodes[0]
    disk = disk_seconds.of_node(run.record, rates, node)
    window = (100.0, 104.0)
    use = disk_cap_use.against_caps(run.record, rates, node, window, disk)
    assert use.time_held_back_pct == time_pct


def test_a_disk_that_held_nothing_back_says_so() -> None:
    use = of_disk(0.0, 293.0).telemetry.against_caps["node-1"]
    assert use.held_back_pct == 0.0


def test_each_second_has_the_share_that_limits_held_back() -> None:
    table = of_account(for_five_seconds).telemetry.by_second
    of_node = table[(table["phase"] == "measure") & (table["node"] == "node-1")]
    shares = of_node.set_index("time_s")["held_back_pct"].sort_index()
    assert shares[shares > 0].to_list() == pytest.approx([75.0] * 5)
    assert shares.notna().all()


def test_without_an_account_no_share_is_made_up() -> None:
    (run,) = build_campaign(
        profiles=("premium",), workloads=("insert",), repetitions=1
    ).runs
    assert run.telemetry.by_second["held_back_pct"].isna().all()


def test_an_ebs_volumes_largest_count_is_its_share() -> None:
    run = of_account(lambda seconds: 0.1 * seconds, EBS)
    tables = sampled_in(run)
    is_largest = tables["metric"] == EBS[2]
    tables.loc[is_largest, "value"] *= 2.5
    table = replace(run, sampled=held(tables)).telemetry.by_second
    shares = table["held_back_pct"].dropna().to_numpy()
    assert len(shares) and shares == pytest.approx(25.0)


def test_three_of_four_counts_are_no_count() -> None:
    """The one that lacks may be of the limit that held I/Os back."""
    table = of_account(never, EBS[:3]).telemetry.by_second
    assert table["held_back_pct"].isna().all()


def of_another_volume_from(second: float) -> HeldBack:
    """Another volume takes the device's name, and has counted for hours."""

    def counted_s(seconds: pd.Series) -> pd.Series:
        return 9_000.0 * (seconds >= second)

    return counted_s


def test_the_count_of_another_volume_is_no_growth() -> None:
    run = of_account(of_another_volume_from(5.0), EBS)
    shares = run.telemetry.by_second["held_back_pct"].dropna()
    assert len(shares) and (shares == 0).all()
    named = bottlenecks.bottleneck([run], None)
    assert named is not None
    assert named.evidence["instance_iops_exceeded_pct"] == 0
    assert "By the volume's counts" not in named.text


def strip_of(run: RunData) -> dict[str, float]:
    """What was at its limit → seconds of it."""
    campaign = build_campaign(
        profiles=("premium",),
        workloads=("insert",),
        repetitions=1,
        shapes={("premium", "insert"): BURSTS},
    )
    campaign = replace(campaign, runs=(run,))
    index = judged_index(campaign)
    strip = Runs(index, "insert").of_limits(1)
    lengths_s: dict[str, float] = {}
    for row in strip.to_dict("records"):
        name = str(row["limit"])
        lengths_s[name] = lengths_s.get(name, 0.0) + row["end"] - row["begin"]
    return lengths_s


def test_seconds_below_every_cap_are_told_by_the_disk() -> None:
    assert strip_of(of_account(for_five_seconds)) == {"disk limits, counted": 5.0}
    assert strip_of(of_account(never)) == {}


def test_a_second_at_its_cap_is_none_if_the_disk_held_nothing_back() -> None:
    """As of a load that asks for just that rate."""
    run = of_account(never)
    tables = sampled_in(run)
    of_disk = tables["metric"].isin(["disk_reads_total", "disk_writes_total"])
    grown = 1_100.0 * (tables["time_s"] - START_S)
    is_read = of_disk & (tables["metric"] == "disk_reads_total")
    tables.loc[of_disk, "value"] = 0.0
    tables.loc[is_read, "value"] = grown[is_read] + 1e6
    capped = replace(run, sampled=held(tables))
    assert strip_of(capped) == {}
    uncounted = tables[~tables["metric"].str.contains("held_back")]
    assert set(strip_of(replace(run, sampled=held(uncounted)))) == {"IOPS cap"}


def test_the_share_of_seconds_is_among_the_evidence() -> None:
    run = of_account(for_five_seconds)
    named = bottlenecks.bottleneck([run], None)
    assert named is not None
    window = run.record.phase("measure")
    assert window is not None
    expected_pct = 100 * 5 / window.duration_s
    assert named.evidence["time_held_back_pct"] == pytest.approx(expected_pct)


def test_the_share_is_drawn_beside_the_disks_use() -> None:
    run = of_account(for_five_seconds)
    campaign = replace(
        build_campaign(profiles=("premium",), workloads=("insert",), repetitions=1),
        runs=(run,),
    )
    index = judged_index(campaign)
    (part,) = over_time.section(index).parts
    (block, *_) = part.blocks
    assert isinstance(block, Charts)
    names = [chart.name for chart in block.rows]
    assert "insert-held-back" in names
    assert names.index("insert-held-back") == names.index("insert-bandwidth") + 1


def test_a_second_in_which_nothing_was_answered_is_not_known() -> None:
    def stalled(seconds: pd.Series) -> pd.Series:
        return 0.0 * seconds

    run = of_account(stalled)
    tables = sampled_in(run)
    is_served = tables["metric"] == "disk_served_seconds_total"
    tables.loc[is_served, "value"] = 5.0
    still = replace(run, sampled=held(tables)).telemetry.by_second
    assert np.isnan(still["held_back_pct"]).all()

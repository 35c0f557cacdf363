"""What providers tell of a disk's limits becomes shares of intervals, and stays beside its demand.

Names and meanings are those of the pages in `azure_monitor` and `cloudwatch`; no answer of a real
account was seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.errors import UsageError
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.judging import node_sums
from orchestrator.extensions.observe.judging.demand import QUANTITIES, Demand
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.extensions.observe.judging.machine_reports import apart
from tests import ROOT
from tests.written_histories import cloudwatch

FIXTURES = ROOT / "tests" / "fixtures" / "histories"
IOPS_PCT = "Data Disk IOPS Consumed Percentage"
SUMS = {
    "VolumeReadOps": 600.0,
    "VolumeWriteOps": 1200.0,
    "VolumeReadBytes": 4_915_200.0,
    "VolumeWriteBytes": 9_830_400.0,
}


def read(folder: Path, content: Any) -> Demand:
    file = folder / "metrics.json"
    file.write_text(json.dumps(content))
    return demands(files.read(file))[0]


def of_cloudwatch(
    folder: Path, checks: Mapping[str, Sequence[float]], step_s: int = 60
) -> Demand:
    """Checks of one volume, newest last, a value for each interval of `step_s`."""
    content = json.loads(cloudwatch(SUMS).files["metrics.json"])
    first, *_ = content["MetricDataResults"]
    length = max(len(values) for values in checks.values())
    times = [1_795_673_940 + step_s * place for place in range(length)]
    results = []
    for result in content["MetricDataResults"]:
        values = [result["Values"][0]] * length
        results.append({**result, "Timestamps": times, "Values": values})
    for name, of_minutes in checks.items():
        of_check = {
            **first,
            "Label": f"vol-1 {name}",
            "Timestamps": times[: len(of_minutes)],
            "Values": list(of_minutes),
        }
        results.append(of_check)
    return read(folder, {"MetricDataResults": results})


def of_azure(folder: Path, percents: Sequence[float | None], **more: Any) -> Demand:
    """The fixture, with percentages of its first disk."""
    content = json.loads((FIXTURES / "azure_monitor.json").read_text())
    like = content["value"][0]
    series = like["timeseries"][0]
    data = []
    for point, percent in zip(series["data"], percents, strict=True):
        data.append({"timeStamp": point["timeStamp"], "average": percent})
    told = {
        **like,
        "name": {"value": IOPS_PCT},
        "timeseries": [{**series, "data": data}],
        **more,
    }
    content["value"].append(told)
    return read(folder, content)


def test_a_check_of_cloudwatch_is_a_share_of_each_minute(tmp_path: Path) -> None:
    checks = {
        "VolumeIOPSExceededCheck": [0.0, 1.0, 1.0],
        "VolumeThroughputExceededCheck": [0.0, 0.0, 1.0],
    }
    demand = of_cloudwatch(tmp_path, checks)
    told = {throttle.limited: throttle.share.tolist() for throttle in demand.reported}
    assert told == {"ios": [0, 1, 1], "bytes": [0, 0, 1]}


def test_sums_of_checks_are_shares_of_longer_intervals(tmp_path: Path) -> None:
    checks = {"VolumeIOPSExceededCheck": [0.0, 2.0, 5.0]}
    (throttle,) = of_cloudwatch(tmp_path, checks, step_s=300).reported
    assert throttle.share.tolist() == pytest.approx([0.0, 0.4, 1.0])


def test_a_minute_without_a_check_is_not_known(tmp_path: Path) -> None:
    checks = {
        "VolumeIOPSExceededCheck": [0.0, 1.0],
        "VolumeThroughputExceededCheck": [0.0, 0.0, 0.0],
    }
    demand = of_cloudwatch(tmp_path, checks)
    iops, bandwidth = demand.reported
    assert not iops.is_of_all and np.isnan(iops.share[2])
    assert bandwidth.is_of_all and len(demand.begin_s) == 3


def test_at_a_hundred_percent_azures_limit_holds_back(tmp_path: Path) -> None:
    (throttle,) = of_azure(tmp_path, [None, 99.0, 98.9]).reported
    assert throttle.limited == "ios" and throttle.share.tolist() == [1, 0]


def test_what_burst_credit_lets_through_was_not_held_back_by_the_limit(
    tmp_path: Path,
) -> None:
    """A P10 that bursts does up to seven times what it has without credit."""
    (throttle,) = of_azure(tmp_path, [None, 105.1, 105.0]).reported
    assert np.isnan(throttle.share[0]) and throttle.share[1] == 1
    remarks: list[str] = []
    files.read(tmp_path / "metrics.json", remarks.append)
    assert "1 value of Data Disk IOPS Consumed Percentage above 105 %" in remarks[0]


def test_a_machine_that_does_not_tell_is_read_all_the_same(tmp_path: Path) -> None:
    refused = {"errorCode": "InvalidSeries", "errorMessage": "no premium storage"}
    demand = of_azure(tmp_path, [None, 99.6, 98.2], **refused)
    assert demand.reported == () and len(demand.begin_s) == 2


def test_what_azure_reports_of_a_machine_stands_beside_its_disks(
    tmp_path: Path,
) -> None:
    """Asked for apart, because it has no LUN: a file of its own."""
    disks = json.loads((FIXTURES / "azure_monitor.json").read_text())
    like = disks["value"][0]
    times = [point["timeStamp"] for point in like["timeseries"][0]["data"]]
    machine = []
    for name, percents in {
        "VM Uncached IOPS Consumed Percentage": (3.0, 99.5, 40.0),
        "VM Cached IOPS Consumed Percentage": (0.0, 0.0, 100.0),
        "VM Uncached Bandwidth Consumed Percentage": (3.0, 3.0, 3.0),
    }.items():
        data = []
        for time, percent in zip(times, percents, strict=True):
            data.append({"timeStamp": time, "average": percent})
        series = [{"metadatavalues": [], "data": data}]
        machine.append({**like, "name": {"value": name}, "timeseries": series})
    tables = []
    for name, metrics in {"disks": disks["value"], "machine": machine}.items():
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({**disks, "value": metrics}))
        tables.append(files.read(file))
    alone, *_ = demands(apart(tables[:1]).beside_disks()[0])
    assert alone.reported == ()
    (together,) = apart(tables).beside_disks()
    for demand in demands(together):
        told = {}
        for throttle in demand.reported:
            assert throttle.owner == "machine" and not throttle.is_counted
            told[throttle.limited] = throttle.share.tolist()
        assert told == {"ios": [1, 1], "bytes": [0, 0]}


UNCACHED = "VM Uncached IOPS Consumed Percentage"
CACHED = "VM Cached IOPS Consumed Percentage"
Percents = Sequence[float | None]


def of_machine(folder: Path, metrics: Mapping[str, Percents]) -> pd.DataFrame:
    """Percentages of a machine of the fixture, a minute each."""
    content = json.loads((FIXTURES / "azure_monitor.json").read_text())
    like = content["value"][0]
    times = [point["timeStamp"] for point in like["timeseries"][0]["data"]]
    told = []
    for name, percents in metrics.items():
        data = []
        for time, percent in zip(times, percents, strict=True):
            data.append({"timeStamp": time, "average": percent})
        series = [{"metadatavalues": [], "data": data}]
        told.append({**like, "name": {"value": name}, "timeseries": series})
    file = folder / f"{len(list(folder.iterdir()))}.json"
    file.write_text(json.dumps({**content, "value": told}))
    return files.read(file)


def shares_of(tables: Sequence[pd.DataFrame]) -> list[float]:
    """What is known of the machine's limit of IOPS; -1 where nothing is."""
    reports = apart(tables).reports
    return list(reports["machine_over_iops_share"].fillna(-1.0))


@pytest.mark.parametrize(
    ("cached", "shares"),
    [
        ((None, 50.0, 99.5), [-1.0, 0.0, 1.0]),
        # Burst credit of the cached limit: whether that of the burst was reached is not told.
        ((700.0, 700.0, 0.0), [-1.0, -1.0, 0.0]),
        # No value at all: it has no cached disk, or was not asked.
        ((None, None, None), [0.0, 0.0, 0.0]),
    ],
)
def test_one_of_two_limits_that_is_not_known_may_have_been_reached(
    tmp_path: Path, cached: Percents, shares: Sequence[float]
) -> None:
    uncached = (0.0, 0.0, 3.0)
    together = of_machine(tmp_path, {UNCACHED: uncached, CACHED: cached})
    assert shares_of([together]) == shares
    in_two_files = [of_machine(tmp_path, {UNCACHED: uncached})]
    if any(cached):
        in_two_files.append(of_machine(tmp_path, {CACHED: cached}))
    assert shares_of(in_two_files) == shares


def test_a_limit_that_was_reached_is_so_whatever_the_other_did(tmp_path: Path) -> None:
    table = of_machine(
        tmp_path, {UNCACHED: (99.7, 100.0, 0.0), CACHED: (None, 700.0, 0.0)}
    )
    assert shares_of([table]) == [1.0, 1.0, 0.0]


def test_a_file_of_another_machine_leaves_nothing_unknown(tmp_path: Path) -> None:
    """It has a column of that limit, and was not asked for this machine's."""
    first = of_machine(tmp_path, {UNCACHED: (0.0, 0.0, 0.0)})
    bandwidth = of_machine(
        tmp_path, {"VM Uncached Bandwidth Consumed Percentage": (0.0, 0.0, 0.0)}
    )
    other = first.assign(node="another")
    assert -1.0 not in shares_of([first, pd.concat([bandwidth, other])])


def reported(begins_s: Sequence[float], step_s: float, share: float) -> pd.DataFrame:
    """What a provider reports of the machine db-1."""
    begin_s = np.array(begins_s)
    return pd.DataFrame(
        {
            "node": "db-1",
            "device": "machine",
            "begin_s": begin_s,
            "end_s": begin_s + step_s,
            "machine_over_iops_share": share,
        }
    )


def of_disk(
    begins_s: Sequence[float], step_s: float, node: str = "db-1"
) -> pd.DataFrame:
    begin_s = np.array(begins_s)
    table = pd.DataFrame({"node": node, "device": "sdc", "begin_s": begin_s})
    return table.assign(end_s=begin_s + step_s, **dict.fromkeys(QUANTITIES, 1.0))


@pytest.mark.parametrize(
    ("disk", "shares"),
    [
        # Seconds of a minute are within it, and the last one is not.
        (of_disk([60.0, 61.0, 119.0, 119.5], 1.0), [1.0, 1.0, 1.0, np.nan]),
        # A report of a minute says nothing of five.
        (of_disk([60.0, 360.0], 300.0), [np.nan, np.nan]),
        (of_disk([0.0, 60.0], 60.0, node="db-2"), [np.nan, np.nan]),
    ],
)
def test_a_machines_report_is_of_what_lies_within_it(
    disk: pd.DataFrame, shares: Sequence[float]
) -> None:
    (together,) = apart([reported([60.0], 60.0, 1.0), disk]).beside_disks()
    found = together["machine_over_iops_share"].to_numpy()
    assert np.array_equal(found, shares, equal_nan=True)


def in_reports(reports: Sequence[pd.DataFrame], begins_s: Sequence[float]) -> list[Any]:
    """The shares of seconds of a disk beside these reports of its machine."""
    (together,) = apart([*reports, of_disk(begins_s, 1.0)]).beside_disks()
    return list(together["machine_over_iops_share"].fillna(-1.0))


def test_an_interval_lies_in_a_report_that_began_before_another() -> None:
    """Only the report that began last was looked at, and it may have ended already."""
    hour = reported([0.0], 3600.0, 0.5)
    minutes = reported([60.0, 300.0], 60.0, 1.0)
    assert in_reports([hour, minutes], [30.0, 70.0, 200.0, 310.0, 3599.0, 3600.0]) == [
        0.5,
        1.0,
        0.5,
        1.0,
        0.5,
        -1.0,
    ]
    overlapping = [reported([0.0], 60.0, 1.0), reported([30.0], 60.0, 0.0)]
    assert in_reports(overlapping, [29.0, 45.0, 59.5]) == [1.0, 0.0, 0.0]


def test_a_machine_counts_once_for_the_disks_of_a_stripe() -> None:
    """What the provider reports of it stands beside each of them, and is one limit all the same.
    The limits of the disks are added: they may be reached in unlike seconds."""
    begins_s = [0.0, 60.0]
    disks = [of_disk(begins_s, 60.0), of_disk(begins_s, 60.0).assign(device="sdd")]
    table = pd.concat(disks).assign(over_iops_share=0.3)
    (together,) = apart([reported(begins_s, 60.0, 0.4), table]).beside_disks()
    (striped,) = node_sums.of_nodes(demands(together))
    shares = {report.owner: report.share.tolist() for report in striped.reported}
    assert shares == {"disk": [0.6, 0.6], "machine": [0.4, 0.4]}


def test_a_report_of_one_limit_hides_none_of_the_other() -> None:
    of_bandwidth = reported([30.0], 60.0, 0.0).rename(
        columns={"machine_over_iops_share": "machine_over_bandwidth_share"}
    )
    assert in_reports([reported([0.0], 60.0, 1.0), of_bandwidth], [45.0]) == [1.0]


def test_what_is_told_of_some_intervals_goes_with_them(tmp_path: Path) -> None:
    checks = {"VolumeIOPSExceededCheck": [0.0, 1.0, 1.0]}
    part = of_cloudwatch(tmp_path, checks).part(slice(1, 2))
    assert [throttle.share.tolist() for throttle in part.reported] == [[1.0]]


@pytest.mark.parametrize("name", ["cloudwatch.json", "azure_monitor.json"])
def test_without_them_nothing_is_told(name: str) -> None:
    for demand in demands(files.read(FIXTURES / name)):
        assert demand.reported == ()


# ------------------------------------------------------------------ what cannot be


def of_csv(folder: Path, iops_over_s: Sequence[float], step_s: float = 60.0) -> Demand:
    """Sums of minutes, with the seconds above the limit of IOPS."""
    table = pd.DataFrame({"begin": step_s * np.arange(len(iops_over_s))})
    table["end"] = table["begin"] + step_s
    amounts = dict.fromkeys(QUANTITIES, 4_915_200) | {"reads": 600, "writes": 600}
    table = table.assign(node="db-1", device="sdc", iops_over_s=iops_over_s, **amounts)
    file = folder / "counted.csv"
    table.to_csv(file, index=False)
    (demand,) = demands(files.read(file))
    return demand


def test_more_seconds_than_passed_are_not_known(tmp_path: Path) -> None:
    """As where another volume takes the device's name."""
    demand = of_csv(tmp_path, [0.0, 60.9, 9_000.0, *[0.0] * 20])
    (throttle,) = demand.reported
    assert throttle.share[:2].tolist() == [0.0, 1.0]
    assert np.isnan(throttle.share[2]) and not throttle.is_of_all
    assert demand.unlikely == (
        "1 count of seconds above a limit longer than its interval",
    )


def test_microseconds_are_not_taken_for_seconds(tmp_path: Path) -> None:
    """EBS' log page has microseconds: as seconds they would be all of the time."""
    with pytest.raises(UsageError, match="longer than its interval in 10 of 20") as why:
        of_csv(tmp_path, [0.0, 30_000_000.0] * 10)
    assert "divide them by 1,000,000" in why.value.advice


@pytest.mark.parametrize("percent", [float("nan"), -5.0, 1e9])
def test_what_is_no_percentage_tells_nothing(tmp_path: Path, percent: float) -> None:
    demand = of_azure(tmp_path, [None, percent, 100.0])
    (throttle,) = demand.reported
    assert np.isnan(throttle.share[0]) and throttle.share[1] == 1


@pytest.mark.parametrize("percent", ["100", True])
def test_a_percentage_that_is_no_number_is_refused(
    tmp_path: Path, percent: Any
) -> None:
    with pytest.raises(UsageError, match="Percentage is not a number"):
        of_azure(tmp_path, [None, percent, 100.0])


def test_the_mean_of_an_hour_does_not_deny_that_the_limit_was_reached(
    tmp_path: Path,
) -> None:
    """An hour with half of its minutes at the limit has a mean below it, too."""
    content = json.loads((FIXTURES / "azure_monitor.json").read_text())
    content["interval"] = "PT1H"
    for metric in content["value"]:
        for series in metric["timeseries"]:
            for hour, point in enumerate(series["data"]):
                point["timeStamp"] = f"2026-11-26T0{hour}:00:00Z"
    like = content["value"][0]
    series = like["timeseries"][0]
    means = (None, 60.0, 99.7)
    data = []
    for point, mean in zip(series["data"], means, strict=True):
        data.append({"timeStamp": point["timeStamp"], "average": mean})
    name = {"value": IOPS_PCT}
    content["value"].append(
        {**like, "name": name, "timeseries": [{**series, "data": data}]}
    )
    (throttle,) = read(tmp_path, content).reported
    assert np.isnan(throttle.share[0]) and throttle.share[1] == 1


def test_a_mean_of_checks_is_refused(tmp_path: Path) -> None:
    """A sum of checks is a whole number."""
    checks = {"VolumeIOPSExceededCheck": [0.0, 0.4, 1.0]}
    with pytest.raises(UsageError, match="is no sum of whole minutes") as why:
        of_cloudwatch(tmp_path, checks, step_s=300)
    assert "Sum" in why.value.advice

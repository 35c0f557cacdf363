"""What providers tell of a disk's limits becomes shares of intervals, and stays beside its demand.

Names and meanings are those of the pages in `providers`; no answer of a real account was seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.observed.demand import Demand
from orchestrator.analysis.observed.disk_demands import demands
from orchestrator.analysis.observed.machine_reports import beside_disks
from orchestrator.histories import files
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
    (throttle,) = of_azure(tmp_path, [None, 99.6, 98.2]).reported
    assert throttle.limited == "ios" and throttle.share.tolist() == [1, 0]


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
    alone, *_ = demands(beside_disks(tables[:1])[0])
    assert alone.reported == ()
    (together,) = beside_disks(tables)
    for demand in demands(together):
        told = {}
        for throttle in demand.reported:
            assert throttle.owner == "machine" and not throttle.is_counted
            told[throttle.limited] = throttle.share.tolist()
        assert told == {"ios": [1, 1], "bytes": [0, 0]}


def test_what_is_told_of_some_intervals_goes_with_them(tmp_path: Path) -> None:
    checks = {"VolumeIOPSExceededCheck": [0.0, 1.0, 1.0]}
    part = of_cloudwatch(tmp_path, checks).part(slice(1, 2))
    assert [throttle.share.tolist() for throttle in part.reported] == [[1.0]]


@pytest.mark.parametrize("name", ["cloudwatch.json", "azure_monitor.json"])
def test_without_them_nothing_is_told(name: str) -> None:
    for demand in demands(files.read(FIXTURES / name)):
        assert demand.reported == ()

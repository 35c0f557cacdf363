"""Providers' own metrics of disks, as their commands print them, become sums of intervals.

tests/fixtures/histories/azure_monitor.json and cloudwatch.json are not of real disks. Their layout
is that of documented answers: of Azure's
https://github.com/Azure/azure-rest-api-specs/blob/main/specification/monitor/resource-manager/Microsoft.Insights/stable/2018-01-01/examples/GetMetric.json
with names of https://learn.microsoft.com/azure/azure-monitor/reference/supported-metrics/microsoft-compute-virtualmachines-metrics
and of https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataResult.html,
newest first, as the command prints times. Their numbers are sums of disk.csv: of 06:19, and of the
40 seconds of 06:20 that it has. Azure's 06:18 has no value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.errors import UsageError
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.histories.files import (
    cloudwatch as cloudwatch_answers,
)
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.keys import shipped_yaml
from tests import ROOT
from tests.documented import examples, table_below

FOLDER = ROOT / "tests" / "fixtures" / "histories"
AZURE, AMAZON = (
    json.loads((FOLDER / f"{n}.json").read_text())
    for n in ("azure_monitor", "cloudwatch")
)
MINUTE_S = 1795673940.0  # 06:19 UTC
VOLUME = "vol-0123456789abcdef0"
OF_MACHINE, OF_SET = "virtualMachines/db-1", "virtualMachineScaleSets/db"


def read(folder: Path, content: Any) -> list[Demand]:
    file = folder / "metrics.json"
    file.write_text(json.dumps(content))
    return demands(files.read(file))


def azure(change: Callable[[str], str] = str, **keys: Any) -> Any:
    """The fixture, with another text in it or other keys."""
    return json.loads(change(json.dumps(AZURE))) | keys


def amazon(change: Callable[[str], str] = str, **keys: Any) -> Any:
    return json.loads(change(json.dumps(AMAZON))) | keys


def without_dimensions(text: str) -> str:
    """As it is answered without --filter."""
    content = json.loads(text)
    for metric in content["value"]:
        metric["timeseries"] = [{**metric["timeseries"][0], "metadatavalues": []}]
    return json.dumps(content)


@pytest.mark.parametrize(
    ("name", "place"),
    [("azure_monitor", ("db-1", "lun0")), ("cloudwatch", (VOLUME, VOLUME))],
)
def test_minutes_are_the_sums_of_their_seconds(
    name: str, place: tuple[str, str]
) -> None:
    first = demands(files.read(FOLDER / f"{name}.json"))[0]
    (exact,) = demands(files.read(FOLDER / "disk.csv"))
    assert ((first.node, first.device), first.resolution_s) == (place, 60)
    assert first.begin_s.tolist() == [MINUTE_S, MINUTE_S + 60]
    of_minute = exact.begin_s < MINUTE_S + 59.5
    for told, seconds in zip(first.amounts, exact.amounts, strict=True):
        assert told == pytest.approx(
            [seconds[of_minute].sum(), seconds[~of_minute].sum()]
        )


def test_each_lun_and_the_disk_of_the_system_are_disks_of_a_machine(
    tmp_path: Path,
) -> None:
    assert [(d.device, bool(d.ios.any())) for d in read(tmp_path, AZURE)] == [
        ("lun0", True),
        ("lun1", False),
    ]
    system = azure(
        lambda text: without_dimensions(text).replace("Data Disk", "OS Disk")
    )
    assert [(d.node, d.device) for d in read(tmp_path, system)] == [("db-1", "os")]


def test_a_disk_of_azure_is_its_own_node(tmp_path: Path) -> None:
    text = without_dimensions(json.dumps(AZURE)).replace("Data Disk", "Composite Disk")
    (demand,) = read(tmp_path, json.loads(text.replace(OF_MACHINE, "disks/db-1-data")))
    assert (demand.node, demand.device) == ("db-1-data", "db-1-data")


def test_machines_of_a_scale_set_are_nodes(tmp_path: Path) -> None:
    of_one = azure(lambda text: text.replace(OF_MACHINE, f"{OF_SET}/virtualMachines/7"))
    assert {d.node for d in read(tmp_path, of_one)} == {"db_7"}
    every = azure(lambda text: text.replace(OF_MACHINE, OF_SET))
    for metric in every["value"]:
        for series in metric["timeseries"]:
            series["metadatavalues"].append(
                {"name": {"value": "vmname"}, "value": "db_7"}
            )
    assert {(d.node, d.device) for d in read(tmp_path, every)} == {
        ("db_7", "lun0"),
        ("db_7", "lun1"),
    }


@pytest.mark.parametrize("missing", [{}, {"average": None}])
def test_a_missing_value_is_a_gap_of_azure(
    missing: dict[str, None], tmp_path: Path
) -> None:
    content = azure()
    point = content["value"][3]["timeseries"][0]["data"]
    point[1] = {"timeStamp": point[1]["timeStamp"], **missing}
    assert read(tmp_path, content)[0].begin_s.tolist() == [MINUTE_S + 60]


def test_longer_intervals_have_larger_sums(tmp_path: Path) -> None:
    minute, hour = (
        read(tmp_path, azure(interval=each))[0] for each in ("PT1M", "PT1H")
    )
    assert hour.resolution_s == 3600
    assert hour.amounts[:, 0] == pytest.approx(60 * minute.amounts[:, 0])


def test_pages_of_cloudwatch_are_joined_and_a_missing_point_is_a_gap(
    tmp_path: Path,
) -> None:
    """As the command joins them: the same labels again, of which the last is complete."""
    later = amazon(
        lambda text: text.replace("06:20", "06:23").replace("06:19", "06:21")
    )
    pages = [
        each | {"StatusCode": "PartialData"} for each in later["MetricDataResults"]
    ]
    (demand,) = read(
        tmp_path, {"MetricDataResults": pages + AMAZON["MetricDataResults"]}
    )
    assert ((demand.begin_s - MINUTE_S) / 60).tolist() == [0, 1, 2, 4]
    assert demand.resolution_s == 60 and len(demand.starts) == 2
    assert demand.ios.tolist() == [42498, 20545] * 2


def test_a_label_may_name_the_node_and_the_device_as_other_files_do(
    tmp_path: Path,
) -> None:
    content = amazon(lambda text: text.replace(VOLUME, "db-1 nvme1n1"))
    assert [(d.node, d.device) for d in read(tmp_path, content)] == [
        ("db-1", "nvme1n1")
    ]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (
            azure(without_dimensions),
            """disks of db-1 are not .*--filter "LUN eq '\\*'"$""",
        ),
        (
            azure(lambda text: text.replace(OF_MACHINE, OF_SET)),
            """disks of db are not .*"VMName eq '\\*' and LUN eq '\\*'"$""",
        ),
        (azure(interval="FULL"), "in how long a time"),
        (
            azure(value=[each | {"timeseries": []} for each in AZURE["value"]]),
            "does not tell",
        ),
        (azure(value=[]), "does not tell what a disk read"),
        (
            azure(lambda text: text.replace("average", "total")),
            "it has total, and no average: ask with --aggregation Average",
        ),
        (azure(value=AZURE["value"][:3]), "db-1 lun0 lacks one of its metrics"),
        (amazon(NextToken="more"), "a part of it is missing: ask for less time"),
        (
            amazon(lambda text: text.replace("Complete", "InternalError")),
            "a part of it is missing",
        ),
        (
            amazon(lambda text: text.replace(f"{VOLUME} ", "")),
            "does not name a volume: ask with the Label .*VolumeId",
        ),
        (amazon(MetricDataResults=[]), "does not tell what a disk read"),
        (
            amazon(MetricDataResults=AMAZON["MetricDataResults"][1:]),
            f"{VOLUME} {VOLUME} lacks one",
        ),
        (amazon(lambda text: text.replace("06:20", "06:19")), "in how long a time"),
        (
            amazon(lambda text: text.replace("06:20:00", "06:19:00.2")),
            "in how long a time",
        ),
    ],
)
def test_what_does_not_tell_disks_apart_or_whole_is_refused(
    content: Any, what: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, content)
    assert re.search(what, f"{refused.value.what}: {refused.value.advice}")


def test_the_documented_commands_ask_for_what_is_read() -> None:
    tables = shipped_yaml.shipped(cloudwatch_answers.__package__, "names.yaml")
    names = {**tables["providers"], **tables["reported"]}
    (query,) = yaml.safe_load(examples("SOURCES.md", "Metrics of providers")[0])[
        "MetricDataQueries"
    ]
    of_volume = re.findall(r'MetricName="(\w+)"', query["Expression"])
    assert query["Label"] == cloudwatch_answers.LABEL and VOLUME in query["Expression"]
    table = table_below("OBSERVE.md", "Recipes", "what you have")
    rows = {row[0]: row[1] for row in table}
    asked = rows["[Azure Monitor](SOURCES.md#metrics-of-providers)"]
    metrics = re.findall(r'"Data Disk ([^"]+)"', asked)
    of_server = {"read_iops", "write_iops", "read_throughput", "write_throughput"}
    of_machine = {name.lower() for name in metrics}
    assert {*of_volume, *of_machine, *of_server} == set(names)
    named = {metric["name"]["value"] for metric in AZURE["value"]}
    documented = {f"Data Disk {name}" for name in metrics}
    assert named <= documented and "LUN eq '*'" in asked

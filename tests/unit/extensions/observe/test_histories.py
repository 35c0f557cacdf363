"""Histories of one disk, kept by real programs over the same 100 seconds, say the same.

tests/fixtures/histories: iostat and sadf of sysstat 12.6.1, Prometheus 2.42.0 that read
node_exporter 1.5.0 every second and every 15 s (its answers to the very queries), and a loop over
/proc/diskstats, all on one machine with bursts of synchronous writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.errors import UsageError
from orchestrator.extensions.observe.histories import files, prometheus
from orchestrator.extensions.observe.judging.demand import QUANTITIES, Demand
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.system import parquet
from tests import ROOT
from tests.calls import calls_of

FOLDER = ROOT / "tests" / "fixtures" / "histories"
BEGIN_S = 1795673940.0  # 06:19 UTC, when all of them had begun
HEAD = "time,node,device,reads,writes,read_bytes,written_bytes"
# Not asked for when the answers were kept.
IF_THERE = "node_disk_io_time_weighted_seconds_total"
ANSWERS = json.loads((FOLDER / "prometheus.json").read_text())


def answered(url: str, timeout_s: float, question: Mapping[str, Any]) -> Any:
    """What the server answered to this query, at the same time."""
    assert url == "http://prom:9090/api/v1/query" and question["time"] == BEGIN_S + 100
    if question["query"].startswith(IF_THERE):
        return {"status": "success", "data": {"resultType": "matrix", "result": []}}
    return ANSWERS[question["query"]]


def of_prometheus(job: str, get: Callable[..., Any] = answered) -> Demand:
    at = "http://prom:9090/", f'job="{job}"', "vda", BEGIN_S, BEGIN_S + 100
    (demand,) = demands(prometheus.read(*at, get=get))
    return demand


def of_file(name: str) -> Demand:
    read = files.read(FOLDER / name)
    (demand,) = demands(read[read["device"] == "vda"])
    return demand


READERS: dict[str, Callable[[], Demand]] = {
    "csv": lambda: of_file("disk.csv"),
    "iostat": lambda: of_file("iostat.json"),
    "sadf": lambda: of_file("sadf.json"),
    "Prometheus, 1 s": lambda: of_prometheus("fine"),
    "Prometheus, 15 s": lambda: of_prometheus("node"),
}


def total(
    amount: np.ndarray[Any, Any], demand: Demand, begin_s: float, end_s: float
) -> float:
    """Between two moments, evenly within an interval."""
    times = np.concatenate((demand.begin_s[:1], demand.end_s))
    sums = np.concatenate(([0.0], np.cumsum(amount)))
    begin, end = np.interp([begin_s, end_s], times, sums)
    return float(end - begin)


def closest(
    exact: float, amount: np.ndarray[Any, Any], demand: Demand, begin_s: float
) -> float:
    """Its total over 75 s, shifted by up to a second: stamps of iostat and sadf are whole seconds,
    and a burst may lie across either end."""
    shifts = np.arange(-1.0, 1.01, 0.1)
    totals = [total(amount, demand, begin_s + by, begin_s + by + 75) for by in shifts]
    return min(totals, key=lambda each: abs(each - exact))


@pytest.mark.parametrize("name", READERS)
def test_all_say_the_same(name: str) -> None:
    """Between two scrapes at 15 s, so that no reader has to divide one."""
    exact, other = of_prometheus("fine"), READERS[name]()
    begin_s = float(of_prometheus("node").begin_s[1])
    ios = total(exact.ios, exact, begin_s, begin_s + 75)
    moved = total(exact.bytes, exact, begin_s, begin_s + 75)
    assert ios > 30_000
    assert closest(moved, other.bytes, other, begin_s) == pytest.approx(moved, rel=0.01)
    if name != "sadf":
        assert closest(ios, other.ios, other, begin_s) == pytest.approx(ios, rel=0.01)


def test_sar_counts_discards_too_and_tells_no_reads() -> None:
    """Its I/Os are an upper figure, and it is said that reads and writes are not known apart."""
    sar, exact = of_file("sadf.json"), of_prometheus("fine")
    window = float(sar.begin_s[1]), float(sar.end_s[-2])
    assert np.isnan(sar.amounts[0]).all()
    assert total(sar.ios, sar, *window) > 1.05 * total(exact.ios, exact, *window)
    assert sar.resolution_s == 5


def test_names_and_steps() -> None:
    assert (of_file("disk.csv").node, of_file("disk.csv").device) == ("db-1", "vda")
    assert of_file("iostat.json").node == "vm" and of_prometheus("fine").node == "db-1"
    assert of_prometheus("node").resolution_s == pytest.approx(15, abs=0.01)
    assert of_file("iostat.json").resolution_s == 1


def of_iostat() -> tuple[Any, list[dict[str, Any]]]:
    """The content of its file, and the records in it."""
    content = json.loads((FOLDER / "iostat.json").read_text())
    return content, content["sysstat"]["hosts"][0]["statistics"]


def test_the_record_since_the_start_of_the_machine_does_not_count(
    tmp_path: Path,
) -> None:
    content, records = of_iostat()
    assert len(of_file("iostat.json").begin_s) == len(records) - 1
    # With -z it writes no disk that did nothing, and so perhaps none.
    records[5]["disk"] = []
    file = tmp_path / "iostat.json"
    file.write_text(json.dumps(content))
    assert len(of_file(str(file)).begin_s) == len(records) - 2


@pytest.mark.parametrize(("seconds_left_out", "mean_s"), [(1, 1.2), (2, 1.0)])
def test_a_second_that_iostat_leaves_out_is_no_pause(
    seconds_left_out: int, mean_s: float, tmp_path: Path
) -> None:
    """Records of 0 to 6 s. A record takes a little longer than a second: so one is left out."""
    content, records = of_iostat()
    del records[8:]
    del records[4 : 4 + seconds_left_out]
    file = tmp_path / "iostat.json"
    file.write_text(json.dumps(content))
    table = files.read(file)
    writes = table.loc[table["device"] == "vda", "writes"]
    assert writes.iloc[0] == pytest.approx(mean_s * 2574), "2,574 a second"


def test_what_was_in_flight_is_told_by_iostat() -> None:
    """The queue's mean length, in intervals of a second: iostat(1)."""
    _, records = of_iostat()
    queued = 0.0
    for record in records[1:]:
        (disk,) = [disk for disk in record["disk"] if disk["disk_device"] == "vda"]
        queued += disk["aqu-sz"]
    queue_s = of_file("iostat.json").queue_s
    assert queue_s is not None
    assert queued > 1
    assert queue_s.sum() == pytest.approx(queued, rel=0.02)


# ------------------------------------------------------------------ Prometheus


def without(seconds: range) -> Callable[..., Any]:
    """As if these scrapes had been lost."""

    def get(url: str, timeout_s: float, question: Mapping[str, Any]) -> Any:
        answer = json.loads(json.dumps(answered(url, timeout_s, question)))
        for series in answer["data"]["result"]:
            series["values"] = [
                v for n, v in enumerate(series["values"]) if n not in seconds
            ]
        return answer

    return get


def test_a_lost_scrape_is_a_gap() -> None:
    whole, lost = of_prometheus("fine"), of_prometheus("fine", without(range(40, 43)))
    assert len(lost.starts) == 2 and len(whole.starts) == 1
    assert lost.ios.max() <= whole.ios.max()
    assert lost.step_s.max() < 1.5


def test_times_are_those_of_the_reading() -> None:
    """node_exporter's own clock; what lacks it is refused, as a late scrape would be a burst."""
    demand = of_prometheus("fine")
    clocks = ANSWERS['node_time_seconds{job="fine"}[100s]']["data"]["result"][0][
        "values"
    ]
    assert demand.begin_s[0] == float(clocks[0][1])

    def unclocked(url: str, timeout_s: float, question: Mapping[str, Any]) -> Any:
        if "time" in question["query"].split("{")[0]:
            return {"data": {"result": []}}
        return answered(url, timeout_s, question)

    with pytest.raises(UsageError, match="has no node_time_seconds of db-1"):
        of_prometheus("fine", unclocked)


def long_answer(url: str, timeout_s: float, question: Mapping[str, Any]) -> Any:
    """Counters of one I/O of 4 KiB a second, scraped every minute, with both ends of the range."""
    query, end_s = question["query"], question["time"]
    length_s = int(query.rpartition("[")[2].removesuffix("s]"))
    times = [t for t in range(0, 10**5, 60) if end_s - length_s <= t <= end_s]
    labels = {"instance": "db-1"} | (
        {} if "time" in query.split("{")[0] else {"device": "sdc"}
    )
    times_of_one = 4096 if "bytes" in query.split("{")[0] else 1
    values = [[t, str(t * times_of_one)] for t in times]
    return {"data": {"result": [{"metric": labels, "values": values}]}}


def test_a_long_time_is_asked_for_in_pieces_and_is_one() -> None:
    at = "http://prom:9090", "", "sdc", 0.0, 15 * 3600.0
    (demand,) = demands(prometheus.read(*at, get=long_answer))
    assert len(demand.starts) == 1 and len(demand.begin_s) == 15 * 60
    assert (demand.amounts[:2] == 60).all() and (demand.amounts[2:] == 60 * 4096).all()


def test_a_server_that_lacks_a_counter_is_named() -> None:
    def partial(url: str, timeout_s: float, question: Mapping[str, Any]) -> Any:
        empty: Any = {"data": {"result": []}}
        return (
            empty
            if "written" in question["query"]
            else long_answer(url, timeout_s, question)
        )

    with pytest.raises(
        UsageError, match="has no node_disk_written_bytes_total of db-1"
    ):
        prometheus.read("http://prom:9090", "", "sdc", 0.0, 600.0, partial)


def test_a_device_that_the_server_does_not_have() -> None:
    with pytest.raises(UsageError, match="has no device loop0") as refused:
        prometheus.read(
            "http://prom:9090",
            "",
            "loop0",
            0.0,
            60.0,
            lambda *_, **__: {"data": {"result": []}},
        )
    assert "leaves out loop devices" in refused.value.advice


# ------------------------------------------------------------------ tables and folders


def test_times_of_a_table_may_be_iso(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "time,node,device,reads,writes,read_bytes,written_bytes\n"
        "2026-11-26T06:19:00Z,db-1,sdc,1,1,1,1\n"
        "2026-11-26T07:19:01+01:00,db-1,sdc,3,5,7,9\n"
    )
    (demand,) = demands(files.read(tmp_path / "t.csv"))
    assert demand.begin_s.tolist() == [BEGIN_S] and demand.amounts[:, 0].tolist() == [
        2,
        4,
        6,
        8,
    ]


def test_a_table_may_have_sums_of_intervals(tmp_path: Path) -> None:
    """As providers keep them: minutes, of which some may be missing."""
    (tmp_path / "minutes.csv").write_text(
        "begin,end,node,device,reads,writes,read_bytes,written_bytes\n"
        "2026-11-26T06:19:00Z,2026-11-26T06:20:00Z,db-1,lun2,600,60,4800000,0\n"
        "2026-11-26T06:21:00Z,2026-11-26T06:22:00Z,db-1,lun2,1800,180,4800000,0\n"
        "2026-11-26T06:22:00Z,2026-11-26T06:23:00Z,db-1,lun2,,180,4800000,0\n"
        "2026-11-26T06:23:00Z,2026-11-26T06:24:00Z,db-1,lun2,0,,4800000,0\n"
    )
    (demand,) = demands(files.read(tmp_path / "minutes.csv"))
    assert (demand.node, demand.device, demand.resolution_s) == ("db-1", "lun2", 60)
    assert (demand.begin_s - BEGIN_S).tolist() == [
        0,
        120,
    ]  # one without reads is no idle one
    assert demand.ios.tolist() == [660, 1980] and demand.bytes[0] == 4.8e6


COUNTING = (
    "begin,end,node,device,reads,writes,read_bytes,written_bytes,iops_over_s,bandwidth_over_s\n"
    "1795673940,1795674000,db-1,nvme1n1,600,60,4800000,0,15,0\n"
    "1795674000,1795674060,db-1,nvme1n1,600,60,4800000,0,,0\n"
    "1795674060,1795674120,db-1,nvme1n1,600,60,4800000,0,60.9,0\n"
)


def test_a_table_may_have_what_disks_count_of_their_limits(tmp_path: Path) -> None:
    (tmp_path / "minutes.csv").write_text(COUNTING)
    (demand,) = demands(files.read(tmp_path / "minutes.csv"))
    iops, bandwidth = demand.reported
    assert iops.is_counted and (iops.limited, iops.owner) == ("ios", "disk")
    # A minute without a value is not known, and none is longer than it is.
    assert iops.share[[0, 2]].tolist() == [0.25, 1.0] and np.isnan(iops.share[1])
    assert bandwidth.share.tolist() == [0, 0, 0]


def test_a_word_in_the_place_of_such_a_count_is_refused(tmp_path: Path) -> None:
    (tmp_path / "minutes.csv").write_text(COUNTING.replace(",15,", ",some,"))
    with pytest.raises(UsageError, match="line 2, column iops_over_s"):
        files.read(tmp_path / "minutes.csv")


def test_a_folder_of_files_is_read_whole(tmp_path: Path) -> None:
    for name in ("disk.csv", "sadf.json"):
        (tmp_path / name).write_text((FOLDER / name).read_text())
    assert set(files.read(tmp_path)["node"]) == {"db-1", "vm"}


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{}", "it has no keys, and none of sysstat, value, MetricDataResults"),
        (
            '{"error": {"code": "BadRequest", "message": "no"}}',
            "it has error, and none of sysstat",
        ),
        ('{"sysstat": {"hosts": []}}', "it has no disks"),
        (f"{HEAD}\nnow,a,b,1,1,1,1\n", "line 2, column time: 'now' is not a time"),
        (
            "time,node,device\n1,a,b\n2,a,b\n",
            "line 1 has no column `reads`, `writes`, `read_bytes` and `written_bytes`",
        ),
        ("", "it is empty"),
        (f"{HEAD}\n1,a,b,1,1,1,1\n2,,b,1,1,1,1\n", "line 3, column node: '' names"),
        (
            f"{HEAD}\n1,a,b,1,1,1,1\n2,a,b,1,1,1,1,1\n",
            "line 3 has 8 values for 7 columns",
        ),
        (f"{HEAD}\n1,a,b,1,1,1,inf\n2,a,b,1,1,1,1\n", "column written_bytes: 'inf' is"),
        (f"{HEAD}\n1,a,b,-1,1,1,1\n2,a,b,1,1,1,1\n", "column reads: '-1' is below 0"),
        (f"{HEAD}\n1,a,b,1,1,1,1\n", "it has one reading of a b"),
        (f"{HEAD}\n", "it has columns, but no reading"),
        (f"{HEAD.replace('time', 'begin,end')}\n", "it has columns, but no reading"),
        ('{"sysstat": {"hosts": [{"nodename"', "its JSON ends in the middle"),
        ('{"value": [,]}', "line 1, column 12 is not JSON: Expecting value"),
        ("[1, 2]", "its JSON is a list"),
        (f"{HEAD}\n1,a,b,x,1,1,1\n", "column reads: 'x' is not a number"),
        (f"{HEAD}\n1,a,b,1_000,1,1,1\n", "column reads: '1_000' is not a number"),
        (
            f"{HEAD}\n1,a,b,1,1,1,18446744073709551616\n",
            "column written_bytes: '18446744073709551616' is more than a counter of 64",
        ),
        (
            f"{HEAD}\n1,a,b,1,1,1,18446744073709551616.0\n",
            "column written_bytes: '18446744073709551616.0' is more than a counter of",
        ),
        (f"{HEAD}\n,a,b,1,1,1,1\n", "column time: '' is not a time"),
        (
            f"{HEAD}\n2026-02-01T06:00:00,a,b,1,1,1,1\n",
            "column time: '2026-02-01T06:00:00' has no zone",
        ),
        (
            f"{HEAD}\n100000000000,a,b,1,1,1,1\n",
            "column time: '100000000000' is milliseconds, not seconds",
        ),
        (
            f"{HEAD}\n100000000000000,a,b,1,1,1,1\n",
            "column time: '100000000000000' is microseconds, not seconds",
        ),
        (
            f"{HEAD}\n1,a,b,1,1,1,1,\n2,a,b,1,1,1,1,\n",
            "line 2 has 8 values for 7 columns",
        ),
        (HEAD.replace(",", ";"), "line 1: its columns are separated by `;`"),
    ],
)
def test_other_files_are_refused_with_their_name(
    text: str, what: str, tmp_path: Path
) -> None:
    file = tmp_path / "disk.txt"
    file.write_text(text)
    with pytest.raises(UsageError, match=f"disk.txt cannot be read.*{what}"):
        files.read(file)


@pytest.mark.parametrize(
    ("reads", "advice"),
    [
        (2**64, "write it in bytes or I/Os, as the disk's own counter has it"),
        (-1, "a number with digits and a point alone"),
    ],
)
def test_a_count_that_no_counter_holds_is_probably_in_another_unit(
    reads: int, advice: str, tmp_path: Path
) -> None:
    file = tmp_path / "disk.csv"
    file.write_text(f"{HEAD}\n1,a,b,{reads},1,1,1\n")
    with pytest.raises(UsageError) as raised:
        files.read(file)
    assert advice in raised.value.advice


def test_a_table_has_gaps_where_it_says_so_and_blank_lines_are_none(
    tmp_path: Path,
) -> None:
    """Of the device `b` there is one reading; the last one of `a` has no number of reads."""
    lines = ["1,n,a,10,1,0,0", "", "2,n,a,15,1,0,0", "3,n,a,NA,3,0,0", "3,n,b,7,1,0,0"]
    file = tmp_path / "disk.csv"
    file.write_text("\n".join([HEAD, *lines, ""]))
    remarks: list[str] = []
    table = files.read(file, remarks.append)
    assert remarks == [f"{file}: there is one reading of n b, which tells nothing"]
    (row,) = table.itertuples()
    assert (row.begin_s, row.end_s, row.reads, row.writes) == (1.0, 2.0, 5.0, 0.0)


def test_the_largest_count_and_the_last_second_are_read(tmp_path: Path) -> None:
    file = tmp_path / "disk.csv"
    file.write_text(f"{HEAD}\n99999999998,a,b,0,0,0,0\n99999999999,a,b,1,0,0,0\n")
    assert files.read(file)["end_s"].tolist() == [99999999999.0]


def test_local_times_are_refused(tmp_path: Path) -> None:
    local, american = tmp_path / "sadf.json", tmp_path / "iostat.json"
    local.write_text((FOLDER / local.name).read_text().replace('"utc":1', '"utc":0'))
    with pytest.raises(UsageError, match="times are local"):
        files.read(local)
    text = (
        (FOLDER / american.name)
        .read_text()
        .replace("+0000", "")
        .replace("2026-11-26T", "")
    )
    american.write_text(text)
    with pytest.raises(UsageError, match="its times have no zone"):
        files.read(american)


def test_a_folder_without_files_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="cannot be read: it is a folder without files"
    ):
        files.read(tmp_path)


def test_a_long_observation_is_read_in_pieces_and_nothing_between_them_is_lost(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "samples" / "1750000000-600"
    folder.mkdir(parents=True)
    for second in range(130):
        rows = []
        for quantity in QUANTITIES:
            metric = {ours: name for name, ours in files._NAMES.items()}.get(quantity)
            value = 10.0 * second
            rows.append((1.75e9 + second, "n1 sda", metric or quantity, value))
        table = pd.DataFrame(rows, columns=["time_s", "node", "metric", "value"])
        parquet.write(folder / f"{second:05}.parquet", [table])
    tables: list[pd.DataFrame] = []
    calls = calls_of(
        {"pieces": files._readings}, lambda: tables.append(files.read(tmp_path))
    )
    assert calls == {"pieces": 3}
    assert len(tables[0]) == 129
    assert set(tables[0]["reads"]) == {10.0}

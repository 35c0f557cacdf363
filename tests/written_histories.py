"""What tools and providers write of one disk with an even demand, by tool, version and options.

Each form is made to its documentation or to the sources of its release; none is a real disk's. Keys
are those of the table of docs/research/SOURCES.md. The demand: 100 reads of 8 KiB and 200 writes of
16 KiB a second, for half an hour from 06:00 UTC on 2026-02-01.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

BEGIN_S = 1_769_925_600  # 2026-02-01T06:00:00Z
READS_PER_S = 100
WRITES_PER_S = 200
READ_BYTES_PER_S = READS_PER_S * 8192
WRITTEN_BYTES_PER_S = WRITES_PER_S * 16384
KIB, SECTOR, MIB = 1024, 512, 2**20
MINUTES = 30


class Form(NamedTuple):
    """`files`: name → content. `seconds`: that are read of it, on `disk`."""

    files: Mapping[str, bytes]
    seconds: float = 60.0 * MINUTES
    disk: tuple[str, str] = ("db-1", "sdc")


def _iso(time_s: float, zone: str = "Z") -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%dT%H:%M:%S}{zone}"


def _as_json(content: Any) -> bytes:
    return json.dumps(content).encode()


# ------------------------------------------------------------------ sysstat


def _host(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    host = {"nodename": "db-1", "sysname": "Linux", "statistics": list(entries)}
    return {"sysstat": {"hosts": [host]}}


def _sar_stamp(time_s: float, zone: Mapping[str, Any]) -> dict[str, Any]:
    moment = datetime.fromtimestamp(time_s, UTC)
    return {
        "date": f"{moment:%Y-%m-%d}",
        "time": f"{moment:%H:%M:%S}",
        **zone,
        "interval": 60,
    }


_SECTORS = {
    "rd_sec": READ_BYTES_PER_S / SECTOR,
    "wr_sec": WRITTEN_BYTES_PER_S / SECTOR,
}
_KB = {"rkB": READ_BYTES_PER_S / KIB, "wkB": WRITTEN_BYTES_PER_S / KIB}


def sadf(rates: Mapping[str, float], zone: Mapping[str, Any]) -> Form:
    """Records of the minute before their time; reads and writes are one figure."""
    disk = {"disk-device": "sdc", "tps": READS_PER_S + WRITES_PER_S, **rates}
    entries = []
    for minute in range(1, MINUTES + 1):
        stamp = _sar_stamp(BEGIN_S + 60 * minute, zone)
        entries.append({"timestamp": stamp, "disk": [disk]})
    return Form({"sa01.json": _as_json(_host(entries))})


def sadf_without_disks() -> Form:
    stamp = _sar_stamp(BEGIN_S, {"tz": "UTC"})
    entries = [{"timestamp": stamp, "cpu-load": [{"cpu": "all", "user": 1.0}]}]
    return Form({"sa01.json": _as_json(_host(entries))})


def _iostat_disk(label: str, unit: float) -> dict[str, Any]:
    return {
        "disk_device": "sdc",
        "r/s": READS_PER_S,
        "w/s": WRITES_PER_S,
        f"r{label}": READ_BYTES_PER_S / unit,
        f"w{label}": WRITTEN_BYTES_PER_S / unit,
        "rareq-sz": 8.0,
        "wareq-sz": 16.0,
    }


def _iostat_content(
    disk: Mapping[str, Any], stamped: Callable[[float], str | None], records: int = 61
) -> dict[str, Any]:
    """The first record is since the start of the machine: its rates are others."""
    entries = []
    for second in range(records):
        entry: dict[str, Any] = {"disk": [disk]}
        stamp = stamped(BEGIN_S + second)
        if stamp:
            entry = {"timestamp": stamp, **entry}
        entries.append(entry)
    entries[0] = {**entries[0], "disk": [{**disk, "r/s": 1.0, "w/s": 1.0}]}
    return _host(entries)


def _zoned(time_s: float) -> str:
    return _iso(time_s, "+0000")


def _american(time_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%m/%d/%Y %I:%M:%S %p}"


def _no_stamp(_time_s: float) -> None:
    return None


def iostat(
    disk: Mapping[str, Any],
    stamped: Callable[[float], str | None] = _zoned,
    records: int = 61,
) -> Form:
    content = _iostat_content(disk, stamped, records)
    return Form({"seconds.json": _as_json(content)}, records - 1)


def _changed(form: Form, change: Callable[[str], str], seconds: float) -> Form:
    files = {}
    for name, content in form.files.items():
        files[name] = change(content.decode()).encode()
    return Form(files, seconds, form.disk)


def _cut(text: str) -> str:
    """Ended within the last record: 59 of 61 are whole, and the first does not count."""
    entry = text.rfind('"timestamp"')
    return text[: text.rfind('"timestamp"', 0, entry) + 40]


def _comma_first(text: str) -> str:
    return text.replace('"statistics": [', '"statistics": [\n,\n')


def _decimal_commas(text: str) -> str:
    return text.replace('"rareq-sz": 8.0', '"rareq-sz": 8,00')


_KB_DISK = _iostat_disk("kB/s", KIB)
_WITHOUT_X = {
    "disk_device": "sdc",
    "tps": 300.0,
    "kB_read/s": 800.0,
    "kB_wrtn/s": 3200.0,
}
_SHORT = {"disk_device": "sdc", "tps": 300.0, "kB/s": 4000.0, "areq-sz": 13.3}
_NO_UNITS = {"disk_device": "sdc", "r": 100.0, "w": 200.0, "rkB": 800.0, "wkB": 3200.0}

# ------------------------------------------------------------------ providers

_AZURE_RATES = {
    "Read Operations/Sec": READS_PER_S,
    "Write Operations/Sec": WRITES_PER_S,
    "Read Bytes/sec": READ_BYTES_PER_S,
    "Write Bytes/sec": WRITTEN_BYTES_PER_S,
}
_SERVER_RATES = {
    "read_iops": READS_PER_S,
    "write_iops": WRITES_PER_S,
    "read_throughput": READ_BYTES_PER_S,
    "write_throughput": WRITTEN_BYTES_PER_S,
}
_LUN = ({"name": {"value": "LUN"}, "value": "0"},)
_MACHINE = "Microsoft.Compute/virtualMachines/db-1"
_DISK = "Microsoft.Compute/disks/db-1-data"
_SERVER = "Microsoft.DBforPostgreSQL/flexibleServers/pg1"


def azure(
    rates: Mapping[str, float],
    resource: str,
    disk: tuple[str, str],
    prefix: str = "",
    dimensions: Sequence[Any] = (),
    aggregation: str = "average",
    error: str = "Success",
) -> Form:
    metrics = []
    for name, rate in rates.items():
        data = []
        for minute in range(MINUTES):
            point = {"timeStamp": _iso(BEGIN_S + 60 * minute), aggregation: rate}
            data.append(point)
        metric = {
            "id": f"/subscriptions/s/resourceGroups/g/providers/{resource}/providers/"
            f"Microsoft.Insights/metrics/{prefix}{name}",
            "name": {"value": f"{prefix}{name}"},
            "errorCode": error,
            "timeseries": [{"metadatavalues": list(dimensions), "data": data}],
        }
        metrics.append(metric)
    content = {"interval": "PT1M", "value": metrics}
    return Form({"metrics.json": _as_json(content)}, disk=disk)


def of_machine(**changes: Any) -> Form:
    given = {"prefix": "Data Disk ", "dimensions": _LUN, **changes}
    return azure(_AZURE_RATES, _MACHINE, ("db-1", "lun0"), **given)


def _encoded(form: Form, encoding: str) -> Form:
    files = {}
    for name, content in form.files.items():
        files[name] = content.decode().encode(encoding)
    return form._replace(files=files)


_EBS_SUMS = {
    "VolumeReadOps": 60.0 * READS_PER_S,
    "VolumeWriteOps": 60.0 * WRITES_PER_S,
    "VolumeReadBytes": 60.0 * READ_BYTES_PER_S,
    "VolumeWriteBytes": 60.0 * WRITTEN_BYTES_PER_S,
}
# Its Average of bytes is that of one I/O.
_EBS_MEANS = {**_EBS_SUMS, "VolumeReadBytes": 8192.0, "VolumeWriteBytes": 16384.0}
_RDS_RATES = {
    "ReadIOPS": READS_PER_S,
    "WriteIOPS": WRITES_PER_S,
    "ReadThroughput": READ_BYTES_PER_S,
    "WriteThroughput": WRITTEN_BYTES_PER_S,
}


def cloudwatch(
    values: Mapping[str, float],
    place: str = "vol-1 ",
    status: str = "Complete",
    more: Mapping[str, Any] | None = None,
    device: str = "",
) -> Form:
    results = []
    times = [_iso(BEGIN_S + 60 * minute, "+00:00") for minute in range(MINUTES)]
    for name, value in values.items():
        result = {
            "Id": "ebs",
            "Label": f"{place}{name}",
            "Timestamps": times,
            "Values": [value] * MINUTES,
            "StatusCode": status,
        }
        results.append(result)
    content = {"MetricDataResults": results, **(more or {})}
    name = place.strip()
    return Form({"metrics.json": _as_json(content)}, disk=(name, device or name))


_EXCEEDED = [
    {
        "Code": "MaxMetricsExceeded",
        "Value": "Maximum number of allowed metrics exceeded",
    }
]


def _with_results(form: Form, change: Callable[[list[Any]], list[Any]]) -> Form:
    """`change`: gets the results of CloudWatch's answer, and gives others."""
    content = json.loads(form.files["metrics.json"])
    content["MetricDataResults"] = change(content["MetricDataResults"])
    return form._replace(files={"metrics.json": _as_json(content)})


def _busier(results: list[Any]) -> list[Any]:
    """The same labels again, of another volume."""
    others = []
    for result in results:
        values = [5 * value for value in result["Values"]]
        others.append({**result, "Values": values})
    return results + others


def _messages(results: list[Any]) -> list[Any]:
    return [{**result, "Messages": _EXCEEDED} for result in results]


def _unix_times(results: list[Any]) -> list[Any]:
    times = [float(BEGIN_S + 60 * minute) for minute in range(MINUTES)]
    return [{**result, "Timestamps": times} for result in results]


def _without_zone(results: list[Any]) -> list[Any]:
    times = [_iso(BEGIN_S + 60 * minute, "") for minute in range(MINUTES)]
    return [{**result, "Timestamps": times} for result in results]


def _two_periods(results: list[Any]) -> list[Any]:
    """The second volume: every fifth time, and what it did in five minutes."""
    others = []
    for result in results:
        other = {
            "Label": result["Label"].replace("vol-1", "vol-2"),
            "Timestamps": result["Timestamps"][::5],
            "Values": [5 * value for value in result["Values"][::5]],
        }
        others.append({**result, **other})
    return results + others


def _two_series_of_a_lun() -> Form:
    form = of_machine()
    content = json.loads(form.files["metrics.json"])
    for metric in content["value"]:
        (series,) = metric["timeseries"]
        data = []
        for point in series["data"]:
            data.append({**point, "average": 5 * point["average"]})
        metric["timeseries"].append({**series, "data": data})
    return form._replace(files={"metrics.json": _as_json(content)})


# ------------------------------------------------------------------ CSV

_HEAD = "time,node,device,reads,writes,read_bytes,written_bytes"
_SUMS_HEAD = "begin,end,node,device,reads,writes,read_bytes,written_bytes"


def _amounts(seconds: int, from_reads: int = 0) -> str:
    amounts = (
        from_reads + READS_PER_S * seconds,
        WRITES_PER_S * seconds,
        READ_BYTES_PER_S * seconds,
        WRITTEN_BYTES_PER_S * seconds,
    )
    return ",".join(str(amount) for amount in amounts)


def _lines(stamp: Callable[[int], str], seconds: int = 60) -> list[str]:
    """Counters, a reading a second."""
    lines = []
    for second in range(seconds + 1):
        lines.append(f"{stamp(BEGIN_S + second)},db-1,sdc,{_amounts(second)}")
    return lines


def table(lines: Sequence[str], head: str = _HEAD, seconds: float = 60.0) -> Form:
    text = "\n".join([head, *lines]) + "\n"
    return Form({"disk.csv": text.encode()}, seconds)


def sums() -> Form:
    lines = []
    for minute in range(MINUTES):
        begin_s = BEGIN_S + 60 * minute
        lines.append(f"{begin_s},{begin_s + 60},db-1,sdc,{_amounts(60)}")
    return table(lines, _SUMS_HEAD, 60.0 * MINUTES)


def _milliseconds(time_s: int) -> str:
    return str(1000 * time_s)


def _changed_lines(old: str, new: str) -> Form:
    """Counters, each line with another text in it."""
    lines = []
    for line in _lines(str):
        lines.append(line.replace(old, new))
    return table(lines)


def _american_times(time_s: int) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%m/%d/%Y %H:%M:%S} Z"


def _more_than_64_bits() -> Form:
    lines = []
    for line in _lines(str):
        *values, read_bytes, written_bytes = line.split(",")
        beyond = 2**64 + int(read_bytes)
        lines.append(",".join([*values, str(beyond), written_bytes]))
    return table(lines)


def _line_by_line() -> Form:
    """Two disks that are called alike, at the same seconds."""
    lines = []
    for second in range(61):
        for reads in (0, 50 * second + 7):
            begin = f"{BEGIN_S + second},db-1,sdc"
            lines.append(f"{begin},{_amounts(second, reads)}")
    return table(lines)


def _in_turn() -> Form:
    """Two disks that are called alike, one half a second behind the other."""
    lines = []
    for second in range(61):
        lines.append(f"{BEGIN_S + second},db-1,sdc,{_amounts(second)}")
        lines.append(f"{BEGIN_S + second}.5,db-1,sdc,{_amounts(second, 10**6)}")
    return table(lines)


def two_machines() -> Form:
    """Each in a file of its own, both called alike."""
    form = sums()
    other = _changed(form, lambda text: text.replace(",6000,", ",9000,"), 0.0)
    return Form({**form.files, "other.csv": other.files["disk.csv"]})


def _semicolons() -> Form:
    return _changed(table(_lines(str)), lambda text: text.replace(",", ";"), 0.0)


def _with_word() -> Form:
    lines = _lines(str)
    lines[0] = lines[0].replace("sdc,0,", "sdc,x,")
    return table(lines)


# ------------------------------------------------------------------ the table

FORMS: dict[tuple[str, str, str], Callable[[], Form]] = {
    ("`sadf -j`", "10.1.5 to 11.5", "`-- -d`"): lambda: sadf(_SECTORS, {"utc": 1}),
    ("`sadf -j`", "11.6 to 12.6", "`-- -d`"): lambda: sadf(
        {**_SECTORS, **_KB}, {"utc": 1}
    ),
    ("`sadf -j`", "12.7.1 and later", "`-- -d`"): lambda: sadf(
        {**_SECTORS, **_KB}, {"tz": "UTC"}
    ),
    ("`sadf -j`", "to 12.6", "`-t` or `-T`"): lambda: sadf(_SECTORS, {"utc": 0}),
    ("`sadf -j`", "12.7.1 and later", "`-t` or `-T`"): lambda: sadf(
        _SECTORS, {"tz": "CET"}
    ),
    ("`sadf -j`", "all", "without `-- -d`"): sadf_without_disks,
    ("`sadf -j`", "all", "decimal commas of a locale"): lambda: _changed(
        sadf(_SECTORS, {"utc": 1}),
        lambda text: text.replace('"tps": 300', '"tps": 300,00'),
        0.0,
    ),
    ("`iostat -o JSON`", "11.5", "`-xt`"): lambda: iostat(_NO_UNITS),
    ("`iostat -o JSON`", "11.6 to 12.2.0", "`-xt`: sectors, called kB"): lambda: iostat(
        _iostat_disk("kB/s", SECTOR)
    ),
    ("`iostat -o JSON`", "12.2.1 and later", "`-xt`: kB"): lambda: iostat(_KB_DISK),
    ("`iostat -o JSON`", "12.2.1 and later", "`-xtm`: MB"): lambda: iostat(
        _iostat_disk("MB/s", MIB)
    ),
    (
        "`iostat -o JSON`",
        "11.6 and later",
        "`-xt` with `POSIXLY_CORRECT`: sectors",
    ): lambda: iostat(_iostat_disk("sec/s", SECTOR)),
    ("`iostat -o JSON`", "all", "without `-t`"): lambda: iostat(_KB_DISK, _no_stamp),
    ("`iostat -o JSON`", "all", "without `S_TIME_FORMAT=ISO`"): lambda: iostat(
        _KB_DISK, _american
    ),
    ("`iostat -o JSON`", "all", "without `-x`"): lambda: iostat(_WITHOUT_X),
    ("`iostat -o JSON`", "all", "a name that is no text"): lambda: iostat(
        {**_KB_DISK, "disk_device": ["sdc"]}
    ),
    ("`iostat -o JSON`", "11.6 and later", "`-xts`"): lambda: iostat(_SHORT),
    ("`iostat -o JSON`", "all", "one record"): lambda: iostat(_KB_DISK, records=1),
    ("`iostat -o JSON`", "all", "its end is missing"): lambda: _changed(
        iostat(_KB_DISK), _cut, 58.0
    ),
    ("`iostat -o JSON`", "to 11.7.0, 12.1.4", "`-y`: a comma behind a bracket"): (
        lambda: _changed(iostat(_KB_DISK), _comma_first, 60.0)
    ),
    ("`iostat -o JSON`", "all", "decimal commas of a locale"): lambda: _changed(
        iostat(_KB_DISK), _decimal_commas, 0.0
    ),
    ("`az monitor metrics list`", "2", "Data Disk, `LUN eq '*'`"): of_machine,
    ("`az monitor metrics list`", "2", "the same in PowerShell 5 (UTF-16)"): (
        lambda: _encoded(of_machine(), "utf-16")
    ),
    ("`az monitor metrics list`", "2", "the same as UTF-8 with a mark"): (
        lambda: _encoded(of_machine(), "utf-8-sig")
    ),
    ("`az monitor metrics list`", "2", "Data Disk without `--filter`"): lambda: (
        of_machine(dimensions=())
    ),
    ("`az monitor metrics list`", "2", "`--aggregation Total`"): lambda: of_machine(
        aggregation="total"
    ),
    ("`az monitor metrics list`", "2", "a metric with an `errorCode`"): lambda: (
        of_machine(error="Throttled")
    ),
    ("`az monitor metrics list`", "2", "Composite Disk, of a disk"): lambda: azure(
        _AZURE_RATES, _DISK, ("db-1-data", "db-1-data"), "Composite Disk "
    ),
    ("`az monitor metrics list`", "2", "flexible server of PostgreSQL"): lambda: azure(
        _SERVER_RATES, _SERVER, ("pg1", "flexible-server-storage")
    ),
    ("`az monitor metrics list`", "2", "flexible server of MySQL"): lambda: azure(
        {"storage_io_count": 18_000.0},
        "Microsoft.DBforMySQL/flexibleServers/my1",
        ("my1", "my1"),
    ),
    ("CloudWatch, `get-metric-data`", "AWS/EBS", "Sum"): lambda: cloudwatch(_EBS_SUMS),
    ("`az monitor metrics list`", "2", "two series of one LUN"): _two_series_of_a_lun,
    (
        "CloudWatch, `get-metric-data`",
        "AWS/EBS",
        "two volumes, minutes and 5 minutes",
    ): (lambda: _with_results(cloudwatch(_EBS_SUMS), _two_periods)),
    ("CloudWatch, `get-metric-data`", "AWS/EBS", "a name of several words"): (
        lambda: cloudwatch(_EBS_SUMS, "my db 1 ")
    ),
    ("CloudWatch, `get-metric-data`", "AWS/EBS", "times in Unix seconds"): (
        lambda: _with_results(cloudwatch(_EBS_SUMS), _unix_times)
    ),
    ("CloudWatch, `get-metric-data`", "all", "two volumes of one Label"): (
        lambda: _with_results(cloudwatch(_EBS_SUMS), _busier)
    ),
    ("CloudWatch, `get-metric-data`", "all", "`Messages` of the answer"): (
        lambda: cloudwatch(_EBS_SUMS, more={"Messages": _EXCEEDED})
    ),
    ("CloudWatch, `get-metric-data`", "all", "`Messages` of a result"): (
        lambda: _with_results(cloudwatch(_EBS_SUMS), _messages)
    ),
    ("CloudWatch, `get-metric-data`", "all", "times without a zone"): (
        lambda: _with_results(cloudwatch(_EBS_SUMS), _without_zone)
    ),
    ("CloudWatch, `get-metric-data`", "AWS/EBS", "Average"): lambda: cloudwatch(
        _EBS_MEANS
    ),
    ("CloudWatch, `get-metric-data`", "AWS/EBS", "a check above 1 a minute"): lambda: (
        cloudwatch({**_EBS_SUMS, "VolumeIOPSExceededCheck": 2.0})
    ),
    ("CloudWatch, `get-metric-data`", "AWS/RDS", "Average"): lambda: cloudwatch(
        _RDS_RATES, "pg1 ", device="rds-storage"
    ),
    ("CloudWatch, `get-metric-data`", "all", "`PartialData`"): lambda: cloudwatch(
        _EBS_SUMS, status="PartialData"
    ),
    ("CloudWatch, `get-metric-data`", "all", "a `NextToken`"): lambda: cloudwatch(
        _EBS_SUMS, more={"NextToken": "more"}
    ),
    ("CloudWatch, `get-metric-data`", "all", "a Label without volume"): lambda: (
        cloudwatch(_EBS_SUMS, "")
    ),
    ("CSV", "counters", "time in Unix seconds"): lambda: table(_lines(str)),
    ("CSV", "counters", "time in ISO 8601 with a zone"): lambda: table(_lines(_iso)),
    ("CSV", "counters", "time in ISO 8601 with the zone `+00`"): lambda: table(
        _lines(lambda time_s: _iso(time_s, "+00"))
    ),
    ("CSV", "counters", "a node called `NA`"): lambda: _changed_lines(
        "db-1", "NA"
    )._replace(disk=("NA", "sdc")),
    ("CSV", "all", "time as `02/01/2026 06:00:00 Z`"): lambda: table(
        _lines(_american_times)
    ),
    ("CSV", "all", "a counter of more than 64 bits"): _more_than_64_bits,
    ("CSV", "all", "numbers as `1_000`"): lambda: _changed_lines("sdc,", "sdc,1_00"),
    ("CSV", "all", "a comma at the end of each line"): lambda: table(
        [f"{line}," for line in _lines(str)]
    ),
    ("CSV", "counters", "newest first"): lambda: table(_lines(str)[::-1]),
    ("CSV", "counters", "UTF-16 with a mark"): lambda: _encoded(
        table(_lines(str)), "utf-16"
    ),
    ("CSV", "sums", "begin and end"): sums,
    ("CSV", "all", "time in milliseconds"): lambda: table(_lines(_milliseconds)),
    ("CSV", "all", "time in ISO 8601 without a zone"): lambda: table(
        _lines(lambda time_s: _iso(time_s, ""))
    ),
    ("CSV", "all", "columns separated by `;`"): _semicolons,
    ("CSV", "all", "a word in a column of numbers"): _with_word,
    ("CSV", "all", "a column missing"): lambda: table(
        _lines(str), _HEAD.replace("device", "disk")
    ),
    ("CSV", "counters", "one reading of a disk"): lambda: table(_lines(str, 0)),
    ("CSV", "counters", "two disks of one name, line by line"): _line_by_line,
    ("CSV", "counters", "two disks of one name in turn"): _in_turn,
    ("CSV", "all", "two disks of one name at the same time"): two_machines,
}

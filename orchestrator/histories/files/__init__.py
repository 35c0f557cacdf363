"""Files of disk counters → tables with INTERVALS: sysstat's JSON (12.6), a CSV, an observation,
providers' metrics.

sar counts reads, writes and discards together in `tps`, so reads and writes are not known apart,
and I/Os are an upper figure where a file system discards. iostat's first record is since the start
of the machine, and says nothing of a second; its times are whole seconds, of which one is left out
now and then, because a record takes a little longer: each is of the mean distance between two."""

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.demand import INTERVALS, QUANTITIES, grown
from orchestrator.errors import UNREADABLE, UsageError
from orchestrator.histories.files import providers
from orchestrator.keys import strict_yaml
from orchestrator.system import parquet

DEMAND = "demand.parquet"  # of an observation
_NAMES = strict_yaml.shipped(__package__, "names.yaml")["read"]
_ZONED = r"(?:Z|[+-]\d\d:?\d\d)$"


def read(place: Path) -> pd.DataFrame:
    """Of a file, an observation, or a folder of files. UsageError if it has another form."""
    try:
        if place.is_dir():
            return _folder(place)
        return _file(place)
    except (OSError, *UNREADABLE) as error:
        raise _no_history(place, _in_words(error)) from error


def _folder(folder: Path) -> pd.DataFrame:
    """An observation is told by what it has written, whole or so far."""
    if (folder / DEMAND).exists():
        return pd.concat(parquet.parts(folder / DEMAND))
    parts = live(folder)
    if parts:
        return _live(parts)
    files = sorted(folder.iterdir())
    if not files:
        raise ValueError("it is a folder without files")
    return pd.concat([read(file) for file in files])


def _file(file: Path) -> pd.DataFrame:
    text = file.read_text(encoding="utf-8")
    if text.lstrip().startswith("{"):
        return _json(json.loads(text))
    return _csv(text)


def _in_words(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    # What the system says of a file, without its number and name.
    strerror = getattr(error, "strerror", None)
    if strerror:
        return str(strerror)
    return f"{type(error).__name__}: {error}"


def _no_history(file: Path, error: str) -> UsageError:
    return UsageError(
        f"{file} cannot be read: {error}",
        advice="a CSV has the columns `time` (or `begin` and `end`), `node`, `device`, and "
        "counters; docs/OBSERVE.md shows how each form is made",
    )


# ------------------------------------------------------------------ an observation


def live(folder: Path) -> list[Path]:
    """What a live observation has read so far: a folder for each time that it was begun."""
    return sorted(folder.glob("samples/*/*.parquet"))


def _live(parts: list[Path]) -> pd.DataFrame:
    """Nodes are called with their device behind them. Times are the node's own, if it tells them.
    In each folder readings are otherwise far apart."""
    tables = []
    for part in parts:
        begun = part.parent.name
        tables += [table.assign(begun=begun) for table in parquet.parts(part)]
    samples = pd.concat(tables)
    readings = samples.pivot_table("value", ["begun", "time_s", "node"], "metric")
    named = readings.rename(columns=_NAMES)
    table = named.reindex(columns=["clock_s", *QUANTITIES]).reset_index()
    table[["node", "device"]] = table["node"].str.extract("(.*) (.*)")
    time_s = table.pop("clock_s").fillna(table["time_s"])
    complete = table.assign(time_s=time_s).dropna()
    return pd.concat([grown(rows) for _, rows in complete.groupby("begun")])


# ------------------------------------------------------------------ other programs' files


def _json(content: Any) -> pd.DataFrame:
    forms = {
        "sysstat": _sysstat,
        "value": providers.azure,
        "MetricDataResults": providers.aws,
    }
    for key in forms.keys() & content.keys():
        return forms[key](content)
    keys = ", ".join(content) or "no keys"
    raise ValueError(f"it has {keys}, and none of {', '.join(forms)}")


class _RecordSpans(NamedTuple):
    """Of records: when each ended, how long it was, by which its rates are multiplied, and how far
    back it is taken to have begun. Of sar both lengths are its interval, a column."""

    end_s: "pd.Series[float]"
    length_s: Any
    usual_s: Any


def _sysstat(content: Any) -> pd.DataFrame:
    """Of `sadf -j`, whose records are of the `interval` seconds before their time; of iostat."""
    table = pd.DataFrame(_records(content)).rename(columns=_NAMES)
    first = table["stamp"].iloc[0]
    if isinstance(first, dict):
        spans = _spans_of_sar(table)
        # Its writes are reads, writes and discards together.
        table = table.assign(reads=np.nan)
    else:
        # Since the start of the machine.
        table = table[table["stamp"] != first]
        spans = _spans_of_iostat(table)
    table[list(QUANTITIES[2:])] *= 1024  # kB
    sums = {name: table[name] * spans.length_s for name in QUANTITIES}
    begin_s = spans.end_s - spans.usual_s
    intervals = table.assign(begin_s=begin_s, end_s=spans.end_s, **sums)
    return intervals[list(INTERVALS)]


def _records(content: Any) -> list[dict[str, Any]]:
    """One of each disk at each time."""
    records = []
    for host in content["sysstat"]["hosts"]:
        for record in host["statistics"]:
            for disk in record.get("disk", ()):
                stamp = record["timestamp"]
                records.append({"node": host["nodename"], "stamp": stamp, **disk})
    return records


def _spans_of_sar(table: pd.DataFrame) -> _RecordSpans:
    stamp = pd.DataFrame(list(table["stamp"]))
    if not stamp["utc"].all():
        raise ValueError("its times are local: leave out -T and -t")
    interval_s = stamp["interval"].astype(float)
    end_s = _unix_s(stamp["date"] + "T" + stamp["time"] + "Z")
    return _RecordSpans(end_s, interval_s, interval_s)


def _spans_of_iostat(table: pd.DataFrame) -> _RecordSpans:
    """Its whole seconds leave one out now and then: each record is of the mean distance."""
    end_s = _unix_s(table["stamp"])
    steps_s = np.diff(np.unique(end_s))
    usual_s = float(np.median(steps_s))
    # A longer one is a pause.
    mean_s = steps_s[steps_s <= 2 * usual_s].mean()
    return _RecordSpans(end_s, mean_s, usual_s)


def _csv(text: str) -> pd.DataFrame:
    """Counters as of `time`, or sums from `begin` to `end`; one that misses a value is a gap."""
    table = pd.read_csv(io.StringIO(text), dtype={"node": str, "device": str})
    for name in {"time", "begin", "end"} & set(table):
        table[f"{name}_s"] = _unix_s(table[name])
    if "begin" in table:
        return table[list(INTERVALS)].dropna()
    return grown(table)


def _unix_s(times: "pd.Series[Any]") -> "pd.Series[float]":
    """Of Unix seconds, or of ISO 8601. ValueError without a zone."""
    if times.dtype.kind in "if":
        return times.astype(float)
    if not times.str.contains(_ZONED).all():
        raise ValueError("its times have no zone: iostat needs S_TIME_FORMAT=ISO")
    moments = pd.to_datetime(times, format="ISO8601", utc=True)
    since_epoch = moments - pd.Timestamp(0, tz="UTC")
    return since_epoch.dt.total_seconds()

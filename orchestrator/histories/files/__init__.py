"""Files of disk counters → tables with INTERVALS: sysstat's JSON (12.6), a CSV, an observation,
providers' metrics.

sar counts reads, writes and discards together in `tps`, so reads and writes are not known apart,
and I/Os are an upper figure where a file system discards. iostat's first record is since the start
of the machine, and says nothing of a second; its times are whole seconds, of which one is left out
now and then, because a record takes a little longer: each is of the mean distance between two."""

import io
import json
from pathlib import Path
from typing import Any

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
        if not place.is_dir():
            text = place.read_text(encoding="utf-8")
            if text.lstrip()[:1] == "{":
                return _json(json.loads(text))
            return _csv(text)
        if (place / DEMAND).exists():
            return pd.concat(parquet.parts(place / DEMAND))
        parts = live(place)
        if parts:
            return _live(parts)
        every = sorted(place.iterdir())
        if not every:
            raise ValueError("it is a folder without files")
        return pd.concat(map(read, every))
    except (OSError, *UNREADABLE) as error:
        said = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        said = said
        if isinstance(error, KeyError):
            said = f"it lacks {error}"
        raise _no_history(place, said) from error


def _no_history(file: Path, error: str) -> UsageError:
    return UsageError(
        f"{file} cannot be read: {error}",
        advice="a CSV has the columns `time` (or `begin` and `end`), `node`, `device`, and "
        "counters; docs/OBSERVE.md shows how each form is made",
    )


def live(folder: Path) -> list[Path]:
    """What a live observation has read so far: a folder for each time that it was begun."""
    return sorted(folder.glob("samples/*/*.parquet"))


def _live(parts: list[Path]) -> pd.DataFrame:
    """Nodes are called with their device behind them. Times are the node's own, if it tells them.
    In each folder readings are otherwise far apart."""
    samples = pd.concat(
        t.assign(of=f.parent.name) for f in parts for t in parquet.parts(f)
    )
    table = samples.pivot_table("value", ["of", "time_s", "node"], "metric").rename(
        columns=_NAMES
    )
    table = table.reindex(columns=["clock_s", *QUANTITIES]).reset_index()
    table[["node", "device"]] = table["node"].str.extract("(.*) (.*)")
    table = table.assign(time_s=table.pop("clock_s").fillna(table["time_s"])).dropna()
    return pd.concat(grown(own) for _, own in table.groupby("of"))


def _json(content: Any) -> pd.DataFrame:
    forms = {
        "sysstat": _sysstat,
        "value": providers.azure,
        "MetricDataResults": providers.aws,
    }
    for key in forms.keys() & content.keys():
        return forms[key](content)
    raise ValueError(
        f"it has {', '.join(content) or 'no keys'}, and none of {', '.join(forms)}"
    )


def _sysstat(content: Any) -> pd.DataFrame:
    """Of `sadf -j`, whose records are of the `interval` seconds before their time; of iostat."""
    records = [
        {"node": host["nodename"], "stamp": record["timestamp"], **disk}
        for host in content["sysstat"]["hosts"]
        for record in host["statistics"]
        for disk in record.get("disk", ())
    ]
    table = pd.DataFrame(records).rename(columns=_NAMES)
    first = table["stamp"].iloc[0]
    if isinstance(first, dict):
        stamp = pd.DataFrame(list(table["stamp"]))
        if not stamp["utc"].all():
            raise ValueError("its times are local: leave out -T and -t")
        step_s: Any = stamp["interval"].astype(float)
        usual_s: Any = step_s
        end_s = _unix_s(stamp["date"] + "T" + stamp["time"] + "Z")
        table = table.assign(reads=np.nan)
    else:
        table = table[table["stamp"] != first]
        end_s = _unix_s(table["stamp"])
        steps_s = np.diff(np.unique(end_s))
        usual_s = float(np.median(steps_s))
        step_s = steps_s[steps_s <= 2 * usual_s].mean()
    table[list(QUANTITIES[2:])] *= 1024  # kB
    sums = {name: table[name] * step_s for name in QUANTITIES}
    return table.assign(begin_s=end_s - usual_s, end_s=end_s, **sums)[list(INTERVALS)]


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
    moments = pd.to_datetime(times, format="ISO8601", utc=True) - pd.Timestamp(
        0, tz="UTC"
    )
    return moments.dt.total_seconds()

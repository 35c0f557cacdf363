"""Files of disk counters → tables with INTERVALS: sysstat's JSON, a CSV, an observation, providers'
metrics. docs/research/SOURCES.md lists which forms are read, and what to ask instead of others."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry.counters.sample_tables import joined
from orchestrator.errors import UNREADABLE, UsageError
from orchestrator.extensions.observe.histories.files import (
    azure_monitor,
    cloudwatch,
    sysstat,
    tables,
    texts,
)
from orchestrator.extensions.observe.histories.files.texts import FormError, Remark
from orchestrator.extensions.observe.judging.counter_growth import grown
from orchestrator.extensions.observe.judging.demand import QUANTITIES, QUEUE_S
from orchestrator.extensions.observe.judging.reported_throttle import OVER_S
from orchestrator.extensions.observe.observation_files import DEMAND, live
from orchestrator.keys import shipped_yaml
from orchestrator.system import parquet

_AT_ONCE = 60  # files of a live one, each of a minute
_NAMES = shipped_yaml.shipped(__package__, "names.yaml")["read"]
_HOW = "docs/SOURCES.md shows which forms are read, and how each is made"


def read(place: Path, remark: Remark = texts.ignore) -> pd.DataFrame:
    """The readings of a file, an observation, or a folder of files.

    `remark` is called with what a person should know of them. UsageError if a file has another
    form.
    """

    def of_this(text: str) -> None:
        remark(f"{place}: {text}")

    try:
        if place.is_dir():
            return _folder(place, remark)
        return _file(place, of_this)
    except FormError as error:
        raise _no_history(place, str(error), error.advice or _HOW) from error
    except FileNotFoundError as error:
        what = "name a file that is there, or a folder of such files"
        raise _no_history(place, _in_words(error), what) from error
    except (OSError, *UNREADABLE) as error:
        raise _no_history(place, _in_words(error), _HOW) from error


def _folder(folder: Path, remark: Remark) -> pd.DataFrame:
    """The readings of a folder. An observation is recognised by what it has written so far."""
    if (folder / DEMAND).exists():
        return pd.concat(parquet.parts(folder / DEMAND))
    parts = live(folder)
    if parts:
        return _live(parts)
    files = sorted(folder.iterdir())
    if not files:
        raise FormError("it is a folder without files")
    return pd.concat([read(file, remark) for file in files])


def _file(file: Path, remark: Remark) -> pd.DataFrame:
    text = texts.text_of(file.read_bytes())
    if text.lstrip().startswith(("{", "[")):
        return _json(texts.json_of(text, remark), remark)
    return tables.read(text, remark)


def _in_words(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    # The system's words about a file, without its number and name.
    strerror = getattr(error, "strerror", None)
    if strerror:
        return str(strerror)
    return f"{type(error).__name__}: {error}"


def _no_history(file: Path, error: str, advice: str) -> UsageError:
    return UsageError(f"{file} cannot be read: {error}", advice=advice)


# ------------------------------------------------------------------ an observation


def _live(parts: list[Path]) -> pd.DataFrame:
    """The readings of an observation that still goes on, or was killed."""
    # Disks are read one by one. All readings of a week at once, each with its names, would be
    # gigabytes. Each time that it was begun stands for itself, because readings are otherwise far
    # apart.
    by_disk = _by_disk(parts)
    tables: list[pd.DataFrame] = []
    for begun, name in sorted(by_disk):
        table = _intervals_of_disk(by_disk.pop((begun, name)), name)
        if table is not None:
            tables.append(table)
    if not tables:
        raise FormError("it has no complete reading of a disk")
    return _as_one(tables)


def _as_one(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """One table of several, which lose their columns."""
    # Column by column, because two copies of a week's readings would be 200 MB.
    columns: dict[str, pd.Series[Any]] = {}
    # Not every disk counts for how long it was above its limits.
    names: dict[str, None] = {}
    for table in tables:
        names.update(dict.fromkeys(table.columns))
    for name in names:
        pieces = [_popped(table, name) for table in tables]
        columns[name] = joined(pieces)[name]
    return pd.DataFrame(columns, copy=False)


def _popped(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """A column, which the table loses; of NaN if it has none."""
    if name not in table:
        return pd.DataFrame({name: np.nan}, index=table.index)
    return table.pop(name).to_frame()


def _intervals_of_disk(readings: list[pd.DataFrame], name: str) -> pd.DataFrame | None:
    """The intervals of a disk; None without a whole reading."""
    complete = _complete(pd.concat(readings, ignore_index=True))
    readings.clear()
    if complete.empty:
        return None
    return grown(_named(complete, name))


def _by_disk(parts: list[Path]) -> dict[tuple[str, str], list[pd.DataFrame]]:
    """When it was begun, and the disk → its readings, without the names."""
    by_disk: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for first in range(0, len(parts), _AT_ONCE):
        readings = _readings(parts[first : first + _AT_ONCE])
        for (begun, name), rows in readings.groupby(["begun", "node"]):
            numbers = rows.drop(columns=["begun", "node"])
            by_disk.setdefault((str(begun), str(name)), []).append(numbers)
    return by_disk


def _complete(readings: pd.DataFrame) -> pd.DataFrame:
    """The readings in the order in which they came.

    Their times are the node's own, if it tells them.
    """
    # Our clock gives the order, because a node's may have been set back in between.
    in_order = readings.sort_values("time_s", ignore_index=True)
    time_s = in_order.pop("clock_s").fillna(in_order["time_s"])
    return in_order.assign(time_s=time_s).dropna(subset=["time_s", *QUANTITIES])


def _named(readings: pd.DataFrame, name: str) -> pd.DataFrame:
    """A node is called with its device behind it."""
    # Names are categories, which take a byte a reading.
    node, _, device = name.rpartition(" ")
    named = readings.assign(node=node, device=device)
    return named.astype({"node": "category", "device": "category"})


def _readings(parts: list[Path]) -> pd.DataFrame:
    """A row for each node and time of some files, each of which has whole readings."""
    tables: list[pd.DataFrame] = []
    for part in parts:
        begun = part.parent.name
        for table in parquet.parts(part):
            wanted = table[table["metric"].isin(["clock_s", *_NAMES])]
            tables.append(wanted.assign(begun=begun))
    samples = pd.concat(tables)
    readings = samples.pivot_table("value", ["begun", "time_s", "node"], "metric")
    named = readings.rename(columns=_NAMES)
    # Of a week each column takes 5 MB a disk: most disks count nothing of their limits.
    there = named.columns.intersection(list(OVER_S))
    columns = ["clock_s", *QUANTITIES, QUEUE_S, *there]
    return named.reindex(columns=columns).reset_index()


# ------------------------------------------------------------------ other programs' files


def _json(content: Any, remark: Remark) -> pd.DataFrame:
    if not isinstance(content, dict):
        raise FormError("its JSON is a list, and no answer of a tool that is known")
    if "sysstat" in content:
        return sysstat.read(content, remark)
    if "value" in content:
        return azure_monitor.read(content, remark)
    if "MetricDataResults" in content:
        return cloudwatch.read(content)
    keys = ", ".join(content) or "no keys"
    raise FormError(f"it has {keys}, and none of sysstat, value, MetricDataResults")

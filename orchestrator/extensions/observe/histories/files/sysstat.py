"""JSON of sysstat's sadf (`sadf -j`) and of iostat (`iostat -o JSON` with -x), releases 10.1.5 to
12.8 → tables with INTERVALS.

What each release writes is in its sources (https://github.com/sysstat/sysstat, rndr_stats.c,
json_stats.c and iostat.c of the tags)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.extensions.observe.histories.files.texts import FormError, Remark
from orchestrator.extensions.observe.histories.files.times import unix_s
from orchestrator.extensions.observe.judging.demand import (
    INTERVALS,
    QUANTITIES,
    QUEUE_S,
)

_SECTOR = 512
_UNITS = {"kB/s": 1024, "MB/s": 2**20, "sec/s": _SECTOR}
# Names of the queue's size: since 11.6 or 12.1, and before.
_IN_FLIGHT = ("aqu-sz", "avgqu-sz")
_AGAIN = "S_TIME_FORMAT=ISO iostat -o JSON -xt 1"
# Relative: what rounding to 1/100 makes of sums.
_ALIKE = 0.1
_UNLIKE = 0.3


class _Records(NamedTuple):
    """A row of each disk at each time (node, stamp and the tool's own names); and all stamps."""

    rows: pd.DataFrame
    stamps: Sequence[Any]


class _RecordSpans(NamedTuple):
    """When each record ended, how long it was, and how far back it is taken to have begun.

    Rates are multiplied by the length. In records of sar both are its interval, a column.
    """

    end_s: "pd.Series[float]"
    length_s: Any
    usual_s: Any


def read(content: Any, remark: Remark) -> pd.DataFrame:
    """FormError, with what to ask the tool for, if reads and writes of a time are not told."""
    records = _records(content)
    if "disk-device" in records.rows:
        return _sar_intervals(records.rows)
    return _iostat_intervals(records, remark)


def _records(content: Any) -> _Records:
    records = []
    stamps = []
    for host in content["sysstat"]["hosts"]:
        entries = host.get("statistics", ())
        is_iostat = any(_is_of_iostat(entry) for entry in entries)
        for number, entry in enumerate(entries):
            stamp = entry.get("timestamp")
            stamps.append(stamp)
            if stamp is None:
                raise FormError(
                    "its readings have no time", f"ask for it with -t: {_AGAIN}"
                )
            # iostat's first record is since the start of the machine, and says nothing of a second.
            if is_iostat and number == 0:
                continue
            for disk in entry.get("disk", ()):
                _check_name(disk)
                records.append({"node": host["nodename"], "stamp": stamp, **disk})
    rows = pd.DataFrame(records)
    if rows.empty:
        raise _no_disks(content)
    return _Records(rows, stamps)


def _check_name(disk: Any) -> None:
    """Refuses a disk's name that is not a text, in records of sar or iostat.

    A disk without a name is refused later, with what it lacks.
    """
    for key in ("disk-device", "disk_device"):
        name = disk.get(key, "")
        if not isinstance(name, str):
            raise FormError(
                f"`{key}` is {name!r}, which cannot be the name of a disk",
                "give the file as sysstat wrote it",
            )


def _is_of_iostat(entry: Any) -> bool:
    return any("disk_device" in disk for disk in entry.get("disk", ()))


def _no_disks(content: Any) -> FormError:
    entries = []
    for host in content["sysstat"]["hosts"]:
        entries += host.get("statistics", ())
    if any(_is_of_iostat(entry) for entry in entries):
        return FormError(
            "it has one reading of iostat, which is since the start of the machine",
            f"let iostat write two or more: {_AGAIN} 3600",
        )
    return FormError(
        "it has no disks",
        f"ask sadf for them: sadf -j FILE -- -d; iostat with -x: {_AGAIN}",
    )


# ------------------------------------------------------------------ sar


def _sar_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    spans = _spans_of_sar(rows)
    if "rkB" in rows:  # written since 11.6; before, sectors alone
        read_bytes = rows["rkB"] * 1024
        written_bytes = rows["wkB"] * 1024
    else:
        read_bytes = rows["rd_sec"] * _SECTOR
        written_bytes = rows["wr_sec"] * _SECTOR
    # `tps` are reads, writes and discards together, so reads are not known apart. Where a file
    # system discards I/Os are an upper figure.
    rates = rows[["node"]].assign(
        device=rows["disk-device"],
        reads=np.nan,
        writes=rows["tps"],
        read_bytes=read_bytes,
        written_bytes=written_bytes,
        queue_s=_in_flight(rows),
    )
    return _sums(rates, spans)


def _spans_of_sar(rows: pd.DataFrame) -> _RecordSpans:
    stamp = pd.DataFrame(list(rows["stamp"]))
    is_utc = False
    if "utc" in stamp:
        is_utc = bool(stamp["utc"].all())
    elif "tz" in stamp:  # written since 12.7.1
        is_utc = bool((stamp["tz"] == "UTC").all())
    if not is_utc:
        raise FormError(
            "its times are local", "leave out -T and -t: sadf -j FILE -- -d"
        )
    interval_s = stamp["interval"].astype(float)
    end_s = unix_s(stamp["date"] + "T" + stamp["time"] + "Z")
    return _RecordSpans(end_s, interval_s, interval_s)


# ------------------------------------------------------------------ iostat


def _iostat_intervals(records: _Records, remark: Remark) -> pd.DataFrame:
    rows = records.rows
    _check_reads_are_told(rows)
    spans = _spans_of_iostat(rows, records.stamps)
    unit = _unit_bytes(rows, remark)
    label = _label(rows)
    rates = rows[["node"]].assign(
        device=rows["disk_device"],
        reads=rows["r/s"],
        writes=rows["w/s"],
        read_bytes=rows[f"r{label}"] * unit,
        written_bytes=rows[f"w{label}"] * unit,
        queue_s=_in_flight(rows),
    )
    return _sums(rates, spans)


def _check_reads_are_told(rows: pd.DataFrame) -> None:
    if "r/s" in rows:
        return
    if "r" in rows:
        raise FormError(
            "an iostat before 11.6 wrote it, which names no units",
            "take sar's files, or a newer iostat",
        )
    raise FormError(
        "iostat does not tell reads and writes apart in it",
        f"ask for it with -x, and without -s: {_AGAIN}",
    )


def _label(rows: pd.DataFrame) -> str:
    for label in _UNITS:
        if f"r{label}" in rows:
            return label
    raise FormError("it has no kB/s, MB/s or sec/s", f"ask for it with -x: {_AGAIN}")


def _unit_bytes(rows: pd.DataFrame, remark: Remark) -> int:
    """How many bytes the unit of a column is: as its name says, or a sector."""
    label = _label(rows)
    named_bytes = _UNITS[label]
    if "rareq-sz" not in rows:
        return named_bytes
    # Releases up to 12.2.0 wrote sectors under the names of the other units (mended in 12.2.1 and
    # 12.3.1). The sizes of an I/O beside them were right.
    amounts = float((rows[f"r{label}"] + rows[f"w{label}"]).sum())
    kb = rows["r/s"] * rows["rareq-sz"] + rows["w/s"] * rows["wareq-sz"]
    by_sizes = 1024 * float(kb.sum())
    is_of_sectors = abs(amounts * _SECTOR - by_sizes) <= _ALIKE * by_sizes
    is_as_named = abs(amounts * named_bytes - by_sizes) <= _UNLIKE * by_sizes
    if is_of_sectors and not is_as_named:
        unit = label.removesuffix("/s")
        remark(
            f"its {unit} are read as sectors of 512 bytes, as iostat up to "
            "12.2.0 writes them"
        )
        return _SECTOR
    return named_bytes


def _spans_of_iostat(rows: pd.DataFrame, stamps: Sequence[Any]) -> _RecordSpans:
    """When records ended, and how long each is taken to be."""
    # Times are whole seconds. One is left out now and then, because a record takes a little longer.
    # So each is of the mean distance between two.
    end_s = unix_s(rows["stamp"])
    steps_s = np.diff(np.unique(unix_s(pd.Series(stamps))))
    usual_s = float(np.median(steps_s))
    # A longer one is a pause.
    mean_s = steps_s[steps_s <= 2 * usual_s].mean()
    return _RecordSpans(end_s, mean_s, usual_s)


def _in_flight(rows: pd.DataFrame) -> "pd.Series[float]":
    """I/Os at a time: the seconds that all of them take, per second. NaN where it is not told."""
    for name in _IN_FLIGHT:
        if name in rows:
            return rows[name].astype(float)
    return pd.Series(np.nan, index=rows.index)


def _sums(rates: pd.DataFrame, spans: _RecordSpans) -> pd.DataFrame:
    sums = {name: rates[name] * spans.length_s for name in (*QUANTITIES, QUEUE_S)}
    begin_s = spans.end_s - spans.usual_s
    intervals = rates.assign(begin_s=begin_s, end_s=spans.end_s, **sums)
    return intervals[[*INTERVALS, QUEUE_S]]

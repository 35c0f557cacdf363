"""A Prometheus server that reads node_exporter: its raw samples, with the times of the readings.

A series is what has the same labels, all of them. Counters grow within one series alone; where
labels changed, as those of a pod do that began anew, is a gap. Nothing is written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.observed import reading_order
from orchestrator.analysis.observed.counter_growth import grown
from orchestrator.analysis.observed.demand import QUANTITIES, QUEUE_S
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.keys import strict_yaml
from orchestrator.system.http_client import get_history, understood
from orchestrator.system.redaction import hidden
from orchestrator.units import listed

# A request: below the server's 50 million samples for hundreds of disks.
CHUNK_S = 6 * 3600
_TIMEOUT_S = 120.0
_OF_A_DEVICE = (*QUANTITIES, QUEUE_S)
# Metric → column. The first are metrics that every node must have; the others are read besides.
_TABLES = strict_yaml.shipped(__package__, "names.yaml")
_REQUIRED: Mapping[str, str] = _TABLES["prometheus"]
_COLUMNS: Mapping[str, str] = {**_REQUIRED, **_TABLES["prometheus_if_there"]}
GetJson = Callable[..., Any]


class _Selection(NamedTuple):
    """What is asked for: selectors of Prometheus and names of devices; where, and by what."""

    url: str
    match: str
    device: str
    get: GetJson


# All labels of a series but its name and its device.
_Target = frozenset[tuple[str, str]]


class _DiskSeries(NamedTuple):
    """A column of what is read. Without `device` it is the clock of a node."""

    column: str
    target: _Target
    device: str


class _ServedDisk(NamedTuple):
    """One device of one target: a table of its counters by the time of their scrape."""

    target: _Target
    device: str
    table: pd.DataFrame

    @property
    def node(self) -> str:
        return dict(self.target).get("instance", "")


_Parts = dict[_DiskSeries, list["pd.Series[float]"]]


def read(
    url: str,
    match: str,
    device: str,
    begin_s: float,
    end_s: float,
    get: GetJson = get_history,
) -> pd.DataFrame:
    """A table with INTERVALS. match: selectors such as `job="node",instance=~"db.*"`; device: as
    the exporter names it, or several with | between. A node is called as its instance.

    UsageError if there is no such series, a counter lacks, or series of one device are of the same
    time; UnavailableError if the server says itself that a part is missing; OSError as of `get`."""
    selection = _Selection(url, match, device, get)
    parts: _Parts = {}
    for start_s in np.arange(begin_s, end_s, CHUNK_S).tolist():
        until_s = min(start_s + CHUNK_S, end_s)
        _add_samples(parts, selection, start_s, until_s)
    disks = list(_disks(parts, list(_COLUMNS.values())))
    if not disks:
        raise _no_such_series(url, device, match)
    _refuse_lacking(url, disks, _REQUIRED)
    _refuse_two_at_once(disks, match)
    tables = []
    for disk in disks:
        tables.append(_grown(disk))
    return pd.concat(tables)


def _add_samples(
    parts: _Parts,
    selection: _Selection,
    start_s: float,
    until_s: float,
) -> None:
    """Raw samples of that time, by when they were scraped."""
    # A range selector gives samples as they were scraped. `query_range` answers at times of its own
    # from the last sample within five minutes. There a lost scrape looks like a pause and then like
    # a burst. It refuses more than 11,000 points
    # (https://prometheus.io/docs/prometheus/latest/querying/api).
    page = f"{selection.url.rstrip('/')}/api/v1/query"
    for metric, column in _COLUMNS.items():
        selectors = _selectors(selection, column)
        query = f"{metric}{{{selectors}}}[{round(until_s - start_s)}s]"
        question = {"query": query, "time": until_s}
        answer = selection.get(page, _TIMEOUT_S, question=question)
        with understood(selection.url):
            _refuse_other_form(selection.url, answer)
            _refuse_partial(selection.url, answer)
            for result in answer["data"]["result"]:
                scraped_s, values = np.array(result["values"], dtype=float).T
                key = _key(column, result["metric"])
                samples = pd.Series(values, scraped_s)
                parts.setdefault(key, []).append(samples)


def _key(column: str, labels: Mapping[str, str]) -> _DiskSeries:
    """Two ranges of the same series have the same one."""
    target_labels = dict(labels)
    # The metric's name is left out: all columns of a target are one table.
    target_labels.pop("__name__", None)
    device = target_labels.pop("device", "")
    return _DiskSeries(column, frozenset(target_labels.items()), device)


def _selectors(selection: _Selection, column: str) -> str:
    """The clock of a node is of no device."""
    selectors = []
    if selection.match:
        selectors.append(selection.match)
    if column in _OF_A_DEVICE:
        selectors.append(f'device=~"{selection.device}"')
    return ",".join(selectors)


def _disks(parts: _Parts, columns: Sequence[str]) -> Iterator[_ServedDisk]:
    """A table for each device of each target, with the clock of its node."""
    joined = {}
    for key, samples in parts.items():
        whole = pd.concat(samples)
        # Both ends of a range are in it.
        joined[key] = whole[~whole.index.duplicated()].sort_index()
    places: dict[tuple[_Target, str], None] = {}
    for key in joined:
        if key.device:
            places[key.target, key.device] = None
    for target, device in places:
        rows_by_disk = {}
        for column in columns:
            key = _DiskSeries(column, target, "")
            if column in _OF_A_DEVICE:
                key = _DiskSeries(column, target, device)
            rows_by_disk[column] = joined.get(key)
        yield _ServedDisk(target, device, pd.DataFrame(rows_by_disk))


def _grown(disk: _ServedDisk) -> pd.DataFrame:
    """Within one series, whatever others of the same device there were."""
    table = disk.table
    if table[QUEUE_S].isna().all():  # the exporter may not tell it
        table = table.drop(columns=QUEUE_S)
    # `time_s` is node_time_seconds, the clock of the reading itself. By the time of its scrape one
    # that came late would be a burst.
    complete = table.dropna(subset=["time_s", *QUANTITIES])
    return grown(complete.assign(node=disk.node, device=disk.device))


# ------------------------------------------------------------------ what is refused


def _refuse_other_form(url: str, answer: Any) -> None:
    """What answers with other JSON is no server of this kind, or something before it."""
    answered_series = None
    if isinstance(answer, dict) and isinstance(answer.get("data"), dict):
        answered_series = answer["data"].get("result")
    if not isinstance(answered_series, list):
        raise UnavailableError(
            f"the answer of {hidden(url)} has no list of series, as Prometheus' API has",
            "give --prometheus the address before /api/v1/query",
        )


def _refuse_partial(url: str, answer: Any) -> None:
    # Thanos and Mimir answer `warnings` beside `success` where a store was not reached
    # (https://thanos.io/tip/components/query.md, partial response), VictoriaMetrics `isPartial`
    # (https://docs.victoriametrics.com/victoriametrics/cluster-victoriametrics).
    words = list(answer.get("warnings") or ())
    if answer.get("isPartial"):
        words.append("isPartial")
    if words:
        raise UnavailableError(
            f"the answer of {url} is not whole: {'; '.join(words)}",
            "ask again when all of its stores answer, or for a shorter --last",
        )


def _refuse_lacking(
    url: str, disks: Iterable[_ServedDisk], columns: Mapping[str, str]
) -> None:
    """Refuses an answer in which a metric of a node is missing."""
    for disk in disks:
        for metric, column in columns.items():
            if disk.table[column].isna().all():
                raise _metric_lacking(url, metric, disk.node)


def _refuse_two_at_once(disks: Sequence[_ServedDisk], match: str) -> None:
    """UsageError if two series of one device of one node are of the same time."""
    # They are two disks, or one disk that two servers read: that is for a person to say. One whose
    # labels changed and changed back lies in a gap of the other.
    by_name: dict[tuple[str, str], list[_ServedDisk]] = {}
    for disk in disks:
        by_name.setdefault((disk.node, disk.device), []).append(disk)
    for (node, device), alike in by_name.items():
        ordered = sorted(alike, key=_begin_s)
        at_once = _at_once(ordered)
        if at_once:
            raise _two_at_once(node, device, at_once, match)


def _at_once(disks: Sequence[_ServedDisk]) -> list[_ServedDisk]:
    """The disks that were read while another of them was read too."""
    at_once = []
    for disk in disks:
        for neighbour in disks:
            if neighbour is not disk and _interleave(disk, neighbour):
                at_once.append(disk)
                break
    return at_once


def _begin_s(disk: _ServedDisk) -> float:
    return float(disk.table.index[0])


def _interleave(disk: _ServedDisk, neighbour: _ServedDisk) -> bool:
    disk_s = disk.table.index.to_numpy(float)
    neighbour_s = neighbour.table.index.to_numpy(float)
    if reading_order.lies_within(disk_s, neighbour_s):
        return True
    return reading_order.lies_within(neighbour_s, disk_s)


def _two_at_once(
    node: str, device: str, disks: Sequence[_ServedDisk], match: str
) -> UsageError:
    labels = reading_order.differing([dict(disk.target) for disk in disks])
    described = []
    for name, values in labels.items():
        described.append(f"{name} is {listed(values)}")
    name = next(iter(labels))
    value = labels[name][0]
    selectors = [f'{name}="{value}"']
    if match:
        selectors.insert(0, match)
    differences = "; ".join(described)
    return UsageError(
        f"{len(disks)} series at once are {node} {device}: {differences}",
        advice=f"name one of them: --match '{','.join(selectors)}'",
    )


def _no_such_series(url: str, device: str, match: str) -> UsageError:
    return UsageError(
        f"{url} has no device {device} of {{{match}}}",
        advice="node_exporter leaves out loop devices and partitions unless it is told "
        "otherwise",
    )


def _metric_lacking(url: str, metric: str, node: str) -> UsageError:
    return UsageError(
        f"{url} has no {metric} of {node}",
        advice="node_exporter has it unless its collectors `diskstats` or `time` are "
        "switched off",
    )

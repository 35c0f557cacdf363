"""A Prometheus server that reads node_exporter, or the driver of EBS volumes: its raw samples, with
the times of the readings.

The driver is that of Kubernetes, and tells for how long a volume and its machine were above their
limits too. Its metrics are those of its source
(https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/pkg/metrics/nvme.go) and its page
docs/metrics.md; no such server was ever seen by us.

All samples with the same labels are one series. The growth of a counter is taken within one series
alone. Where a label changed, as when a pod begins anew, another series begins: between the two is a
gap. Nothing is written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.extensions.observe.judging import reading_order
from orchestrator.extensions.observe.judging.counter_growth import grown
from orchestrator.extensions.observe.judging.demand import QUANTITIES, QUEUE_S
from orchestrator.keys import shipped_yaml
from orchestrator.system.http_client import get_history, understood
from orchestrator.system.redaction import hidden
from orchestrator.texts.prose import listed

# A request: below the server's 50 million samples for hundreds of disks.
CHUNK_S = 6 * 3600
_TIMEOUT_S = 120.0
_TIME = "time_s"
_TABLES = shipped_yaml.shipped(__package__, "names.yaml")
GetJson = Callable[..., Any]


class _Exporter(NamedTuple):
    """What a server reads.

    required: metrics that every node must have → their columns.
    columns: those, and what is read besides.
    device, node: the labels that name them.
    advice: what to do where a metric lacks.
    """

    required: Mapping[str, str]
    columns: Mapping[str, str]
    device: str
    node: str
    advice: str


_NODE_EXPORTER = _Exporter(
    required=_TABLES["prometheus"],
    columns={**_TABLES["prometheus"], **_TABLES["prometheus_if_there"]},
    device="device",
    node="instance",
    advice="node_exporter has it unless its collectors `diskstats` or `time` are "
    "switched off",
)
_EBS_DRIVER = _Exporter(
    required=_TABLES["ebs_driver"],
    columns=_TABLES["ebs_driver"],
    device="volume_id",
    node="instance_id",
    advice="the EBS CSI driver has it from 1.38.1 on, with `node.enableMetrics`",
)
_EBS_VOLUME = "vol-"  # how the names of volumes begin


def _exporter_of(device: str) -> _Exporter:
    """The exporter that names devices so."""
    if device.startswith(_EBS_VOLUME):
        return _EBS_DRIVER
    return _NODE_EXPORTER


class _Selection(NamedTuple):
    """What is asked for: selectors of Prometheus and names of devices; where, and by what."""

    url: str
    match: str
    device: str
    get: GetJson
    exporter: _Exporter


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
    node: str
    device: str
    table: pd.DataFrame


_Parts = dict[_DiskSeries, list["pd.Series[float]"]]


def read(
    url: str,
    match: str,
    device: str,
    begin_s: float,
    end_s: float,
    get: GetJson = get_history,
) -> pd.DataFrame:
    """A table with the columns of INTERVALS, in which a node has the name of its instance.

    match: selectors such as `job="node",instance=~"db.*"`.
    device: as the exporter names it, or several with | between. Names that begin with `vol-` are
        looked for in the metrics of the EBS driver, all others in those of node_exporter.

    UsageError if there is no such series, if a counter is missing, or if two series of one device
    are of the same time. UnavailableError if the server says that its answer is not whole. OSError
    as `get` raises it."""
    exporter = _exporter_of(device)
    selection = _Selection(url, match, device, get, exporter)
    parts: _Parts = {}
    for start_s in np.arange(begin_s, end_s, CHUNK_S).tolist():
        until_s = min(start_s + CHUNK_S, end_s)
        _add_samples(parts, selection, start_s, until_s)
    disks = list(_disks(parts, exporter))
    if not disks:
        raise UsageError(
            f"{url} has no device {device} of {{{match}}}",
            advice="node_exporter leaves out loop devices and partitions unless it is told "
            "otherwise",
        )
    _refuse_lacking(url, disks, exporter)
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
    for metric, column in selection.exporter.columns.items():
        selectors = _selectors(selection, column)
        query = f"{metric}{{{selectors}}}[{round(until_s - start_s)}s]"
        question = {"query": query, "time": until_s}
        answer = selection.get(page, _TIMEOUT_S, question=question)
        with understood(selection.url):
            _refuse_other_form(selection.url, answer)
            _refuse_partial(selection.url, answer)
            for result in answer["data"]["result"]:
                scraped_s, values = np.array(result["values"], dtype=float).T
                key = _key(column, result["metric"], selection.exporter)
                samples = pd.Series(values, scraped_s)
                parts.setdefault(key, []).append(samples)


def _key(column: str, labels: Mapping[str, str], exporter: _Exporter) -> _DiskSeries:
    """Which series a result belongs to: the same one for each range of time that was asked for."""
    target_labels = dict(labels)
    # The metric's name is left out: all columns of a target are one table.
    target_labels.pop("__name__", None)
    device = target_labels.pop(exporter.device, "")
    return _DiskSeries(column, frozenset(target_labels.items()), device)


def _selectors(selection: _Selection, column: str) -> str:
    """The selectors of a query, as they stand between its braces."""
    selectors = []
    if selection.match:
        selectors.append(selection.match)
    # The clock belongs to a node, so that its metric has no label of a device.
    if column != _TIME:
        selectors.append(f'{selection.exporter.device}=~"{selection.device}"')
    return ",".join(selectors)


def _disks(parts: _Parts, exporter: _Exporter) -> Iterator[_ServedDisk]:
    """A table for each device of each target, with the clock of its node."""
    series = _joined(parts)
    # A dict keeps the order in which the disks came.
    disks: dict[tuple[_Target, str], None] = {}
    for key in series:
        if key.device:
            disks[key.target, key.device] = None
    for target, device in disks:
        columns = {}
        for column in exporter.columns.values():
            key = _DiskSeries(column, target, device)
            if column == _TIME:
                key = _DiskSeries(column, target, "")
            columns[column] = series.get(key)
        node = dict(target).get(exporter.node, "")
        yield _ServedDisk(target, node, device, pd.DataFrame(columns))


def _joined(parts: _Parts) -> dict[_DiskSeries, "pd.Series[float]"]:
    """Each series as one, of the parts in which it was asked for."""
    series: dict[_DiskSeries, pd.Series[float]] = {}
    for key, samples in parts.items():
        whole = pd.concat(samples)
        # A range has both its ends, so the sample between two ranges came twice.
        series[key] = whole[~whole.index.duplicated()].sort_index()
    return series


def _grown(disk: _ServedDisk) -> pd.DataFrame:
    """How much the counters of a disk grew from each reading to the next."""
    table = disk.table
    # Not every exporter has the time in the queue.
    if QUEUE_S in table and table[QUEUE_S].isna().all():
        table = table.drop(columns=QUEUE_S)
    # node_exporter tells when it read the counters. The EBS driver does not: there the time of the
    # scrape must do, by which a reading that came late looks like a burst.
    if _TIME not in table:
        table = table.assign(time_s=table.index)
    complete = table.dropna(subset=[_TIME, *QUANTITIES])
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
    url: str, disks: Iterable[_ServedDisk], exporter: _Exporter
) -> None:
    """Refuses an answer in which a metric of a node is missing."""
    for disk in disks:
        for metric, column in exporter.required.items():
            if disk.table[column].isna().all():
                raise UsageError(
                    f"{url} has no {metric} of {disk.node}", advice=exporter.advice
                )


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
    differences = "; ".join(described)
    # The first label in which they differ is enough to name one of them.
    name = next(iter(labels))
    selector = f'{name}="{labels[name][0]}"'
    if match:
        selector = f"{match},{selector}"
    return UsageError(
        f"{len(disks)} series at once are {node} {device}: {differences}",
        advice=f"name one of them: --match '{selector}'",
    )

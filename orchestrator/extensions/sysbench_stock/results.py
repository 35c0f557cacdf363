"""Reads what sysbench prints: one line a second, a histogram of latencies, totals.

Format: sysbench 1.0.20 and the 1.1 of its forks, with `--report-interval=1 --histogram
--percentile=99`. Several processes (one for each node) are put together: counts, sums and
histograms add up. sysbench keeps no single transactions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.analysis.statistics import stats
from orchestrator.design.latency_quantiles import nearest_rank
from orchestrator.errors import LoadError
from orchestrator.keys import shipped_yaml
from orchestrator.load_generators.common.program_output import NOT_COUNTED, version
from orchestrator.metrics import INTERVAL_COLUMNS, PERCENTILES, measured
from orchestrator.model import Measurement

if TYPE_CHECKING:
    import pandas as pd

PERCENT = 99  # the one percentile that sysbench gives for each second
# sysbench counts latencies in 1,024 classes from 1 µs to 100 s, each as much wider than the last.
HISTOGRAM_STEP = math.exp(math.log(1e8) / 1023) - 1

_FORK = "Server Endpoint: "  # yugabyte/sysbench names each host that it was given
_SECOND = re.compile(
    r"^\[ (?P<second>\d+)s \] thds: \d+ tps: (?P<tps>[\d.]+) qps: [\d.]+ \(r/w/o: [\d./]+\) "
    r"lat \(ms,(?P<percent>\d+)%\): (?P<latency>[\d.]+) err/s: (?P<errors>[\d.]+)",
    re.MULTILINE,
)
_CLASS = re.compile(r"^ *([\d.]+) \|\** +(\d+)$", re.MULTILINE)
_TOTALS: Mapping[str, str] = shipped_yaml.shipped(__package__, "totals.yaml")


@dataclass(frozen=True)
class Report:
    """The output of one process."""

    version: str
    fork: bool  # the process is of yugabyte/sysbench, as its banner shows
    seconds: tuple[Mapping[str, float], ...]
    histogram: Mapping[float, int]  # latency (ms, the middle of its class) → count
    totals: Mapping[str, float]  # totals by the names of totals.yaml


def parse(text: str) -> Report:
    """LoadError unless the output is whole: a banner, all totals, as many latencies as events."""
    totals = _totals(text)
    histogram: Counter[float] = Counter()
    for latency_ms, count in _CLASS.findall(text):
        histogram[float(latency_ms)] += int(count)
    # Lines may be lost where an output is cut, and percentiles would be of a part.
    if histogram.total() != totals["transactions"]:
        raise LoadError(
            f"sysbench's histogram has {histogram.total()} latencies "
            f"for {totals['transactions']:g} transactions",
            advice=NOT_COUNTED,
        )
    seconds: list[dict[str, float]] = []
    for line in _SECOND.finditer(text):
        figures = line.groupdict()
        seconds.append({name: float(figure) for name, figure in figures.items()})
    return Report(
        version=version(text) or "",
        fork=_FORK in text,
        seconds=tuple(seconds),
        histogram=histogram,
        totals=totals,
    )


def _totals(text: str) -> dict[str, float]:
    totals: dict[str, float] = {}
    for name, pattern in _TOTALS.items():
        match = re.search(rf"^ *{pattern}", text, re.MULTILINE)
        if match is None:
            raise LoadError(
                f"sysbench's output has no {name}: it is not that of a whole run",
                advice=NOT_COUNTED,
            )
        totals[name] = float(match[1])
    return totals


def total(reports: Sequence[Report], name: str) -> float:
    return sum(report.totals[name] for report in reports)


def measurements(
    reports: Sequence[Report], statements: int | None
) -> Iterator[Measurement]:
    """The figures of the measured window, which is each process' whole life."""
    count = int(total(reports, "transactions"))
    rates = [
        report.totals["transactions"] / report.totals["time_s"] for report in reports
    ]
    yield measured("transactions", count)
    yield measured("throughput_per_s", sum(rates))
    yield measured("failures", 0)  # sysbench ends at an error that it does not repeat
    yield measured("retries", total(reports, "ignored_errors"))
    if not count:
        return
    average_s = total(reports, "sum_ms") / count * 1e-3
    longest_ms = max(report.totals["max_ms"] for report in reports)
    yield measured("latency_avg_s", average_s)
    yield measured("latency_max_s", longest_ms * 1e-3)
    if statements:
        yield measured("statement_latency_avg_s", average_s / statements)
    histogram: Counter[float] = Counter()
    for report in reports:
        histogram.update(report.histogram)
    for metric, percent in PERCENTILES.items():
        if count >= stats.percentile_min_count(percent):
            yield measured(metric, nearest_rank(histogram, percent / 100) * 1e-3)


def intervals(phases: Mapping[str, tuple[float, Sequence[Report]]]) -> pd.DataFrame:
    """One row for each second of each phase, given as (begin, outputs). The errors are attempts
    that were repeated."""
    import pandas as pd

    rows: list[dict[str, object]] = []
    for phase, (start_s, reports) in phases.items():
        for second, lines in sorted(_by_second(reports).items()):
            # sysbench prints a second when it is over; a row has its begin.
            begin_s = start_s + second - 1
            row = {"time_s": round(begin_s, 6), "phase": phase, **_rates(lines)}
            # Percentiles of several processes cannot be put together: they are absent.
            if len(reports) == 1:
                row |= _percentile(lines[0])
            rows.append(row)
    return pd.DataFrame(rows, columns=list(INTERVAL_COLUMNS))


def _rates(lines: Sequence[Mapping[str, float]]) -> dict[str, object]:
    """The figures of a second, of all processes together."""
    return {
        "throughput_per_s": sum(line["tps"] for line in lines),
        "errors": sum(line["errors"] for line in lines),
    }


def _percentile(line: Mapping[str, float]) -> dict[str, object]:
    """The percentile of a second, by its column; none of a second without a transaction."""
    if not line["tps"]:
        return {}
    return {f"latency_p{line['percent']:g}_s": line["latency"] * 1e-3}


def _by_second(reports: Sequence[Report]) -> dict[float, list[Mapping[str, float]]]:
    """Second → the lines of all processes about it."""
    lines: dict[float, list[Mapping[str, float]]] = {}
    for report in reports:
        for line in report.seconds:
            lines.setdefault(line["second"], []).append(line)
    return lines

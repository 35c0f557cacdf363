"""`tierbench verify`: whether a stored campaign's figures are those of its raw files.

Each file is held against its checksum, then each link is made again: raw files → `record.json` and
`latencies.parquet`, by the reader that made them; `latencies.parquet` → throughput and percentiles,
by counting alone; and `record.json` → the cells of `verdict.json`. Nothing is written."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.analysis import results, verdicts
from orchestrator.analysis.figures.transactions import (
    COMMITTED,
    DELIVERY,
    FAILED,
    NEW_ORDER,
)
from orchestrator.analysis.statistics import stats
from orchestrator.errors import UNREADABLE, TierbenchError
from orchestrator.load_generators import load_generators
from orchestrator.load_generators.common import several
from orchestrator.metrics import PERCENTILES
from orchestrator.system import files, store
from orchestrator.units import counted

_ROUNDING = 1e-9  # sums in another order
Figures = Mapping[tuple[str, str], float]  # (metric, scope) → value


def checks(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Of each run its files, then its figures, then of the verdict: where, what was checked, and
    the differences, in words. One bad file hides nothing of the others."""
    for record in sorted((folder / "runs").glob("*/record.json")):
        sums = files.recorded_checksums(record)
        if sums:
            checked = f"{counted(len(sums), 'file')} held against the checksums of record.json"
            yield f"runs/{record.parent.name}", checked, list(files.differences(record))
    try:
        campaign = store.load(folder)
    except files.CutError as error:
        yield "plan.json", "nothing is counted again", [error.what]
        return
    cut = list(results.left_out(campaign))
    if cut:
        yield "files", "not all can be read", cut
    for run in campaign.runs:
        where = f"runs/{run.record.run.slug}"
        if campaign.published:
            yield where, "published figures, which leave no raw files", []
        elif run.record.outcome == "done":
            yield where, *_of_run(run, folder / where / "raw")
    yield "verdict.json", *_of_verdict(campaign, folder / "verdict.json")


def _of_run(run: results.RunData, raw: Path) -> tuple[str, list[str]]:
    record = run.record
    window = results.measured_window(run.record)
    try:
        if window is None:
            raise ValueError("record.json has no measured window")
        generator = load_generators()[record.workload.generator]
        read = several.read(generator, record.workload, raw, *window)
    except (TierbenchError, OSError, ValueError, KeyError) as error:
        return "not counted again", [f"raw/ is missing or cut: {error}"]
    stored = {(m.metric, m.scope): m.value for m in record.measurements}
    again = {(m.metric, m.scope): m.value for m in read.measurements}
    checked = [f"{counted(len(again), 'figure')} counted again from raw/"]
    unlike = list(_unlike("record.json", stored, "raw/", again))
    if read.latencies is not None:
        count = sum(len(table) for table in read.latencies)
        checked.append(f"{counted(count, 'transaction')} of latencies.parquet")
        try:
            unlike += _unlike_transactions(run, stored, window, count)
        except files.CutError as error:
            unlike.append(error.what)
    return ", ".join(checked), unlike


def _unlike(file: str, stored: Figures, source: str, again: Figures) -> Iterator[str]:
    for metric, scope in dict.fromkeys((*stored, *again)):
        both = [figures.get((metric, scope), math.nan) for figures in (stored, again)]
        if not math.isclose(*both, rel_tol=_ROUNDING):
            told = ["none" if math.isnan(value) else f"{value:.10g}" for value in both]
            yield f"{file}: {metric} ({scope}) is {told[0]}, from {source} {told[1]}"


def _unlike_transactions(
    run: results.RunData, stored: Figures, window: tuple[float, float], count: int
) -> Iterator[str]:
    """How the table of transactions differs from raw files with `count`, and from the record. A
    percentile is held to its definition (nearest rank): fewer transactions than its rank are
    faster, and at least as many are as fast or faster."""
    percentiles = {
        name: stored[name, "all"] for name in PERCENTILES if (name, "all") in stored
    }
    faster = dict.fromkeys(percentiles, 0)
    as_fast = dict.fromkeys(percentiles, 0)
    pooled = ("connection_wait_avg_s", "all") in stored
    at_a_rate = ("offered_per_s", "all") in stored  # then latency is of what was due
    rows = served = timed = ranked = orders = 0
    total_s = 0.0
    for table in run.transactions():
        rows += len(table)
        all_good = table[table["outcome"] != FAILED]
        start_s = all_good["start_s"]
        ended_s = all_good["start_s"] + all_good["latency_s"]
        good = all_good[(ended_s >= window[0]) & (ended_s < window[1])]
        due = good
        if at_a_rate:
            due = all_good[(start_s >= window[0]) & (start_s < window[1])]
        latency_s = (due["latency_s"] - (due["queue_s"] if pooled else 0.0)).to_numpy()
        is_ranked = due["type"] != (DELIVERY if NEW_ORDER in set(table["type"]) else "")
        ranked_s = latency_s[is_ranked.to_numpy()]
        served = served + len(good)
        timed = timed + len(due)
        ranked = ranked + len(ranked_s)
        total_s += float(latency_s.sum())
        orders += int(
            ((good["type"] == NEW_ORDER) & (good["outcome"] == COMMITTED)).sum()
        )
        for name, value in percentiles.items():
            faster[name] += int((ranked_s < value * (1 - _ROUNDING)).sum())
            as_fast[name] += int((ranked_s <= value * (1 + _ROUNDING)).sum())
    if rows != count:
        yield f"latencies.parquet: has {counted(rows, 'transaction')}, raw/ {count}"
    per_s = 1 / (window[1] - window[0])
    again = {
        ("throughput_per_s", "all"): served * per_s,
        ("nopm", "all"): orders * per_s * 60,
        ("latency_avg_s", "all"): total_s / max(timed, 1),
    }
    again = {key: value for key, value in again.items() if key in stored}
    same = {key: stored[key] for key in again}
    yield from _unlike("record.json", same, "latencies.parquet", again)
    for name, value in percentiles.items():
        rank = stats.rank(max(ranked, 1), PERCENTILES[name])
        if not faster[name] < rank <= as_fast[name]:
            yield (
                f"record.json: {name} (all) is {value:.10g}; it would be the {rank}th of {ranked} "
                f"in latencies.parquet, where {faster[name]} are faster and {as_fast[name]} "
                "as fast or faster"
            )


def _of_verdict(campaign: results.Results, file: Path) -> tuple[str, list[str]]:
    """Its cells, from the records as they are stored."""
    try:
        cells = json.loads(file.read_bytes())["cells"]
    except (OSError, *UNREADABLE) as error:
        return "cannot be read: `tierbench analyze` makes it again", [
            f"verdict.json: {error}"
        ]
    try:
        again = verdicts.cells(campaign)
    except files.CutError as error:
        return "its cells cannot be made again", [error.what]
    figures = _flat(cells), "the records", _flat([vars(cell) for cell in again])
    differences = list(_unlike("verdict.json", *figures))
    return f"{counted(len(again), 'cell')} made again from the records", differences


def _flat(cells: Iterable[Mapping[str, Any]]) -> Figures:
    """The mean of each, and the value of each of its runs."""
    return {
        (
            f"{cell['profile']} × {cell['workload']}, {cell['metric']}{of}",
            cell["scope"],
        ): value
        for cell in cells
        for of, value in (
            ("", cell["mean"]),
            *(
                (f" of run {place}", value)
                for place, value in enumerate(cell["values"], start=1)
            ),
        )
    }

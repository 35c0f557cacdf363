"""Layouts of disks, predicted and measured: a disk for the log alone, and two disks striped to one.

    make bench NAME=layouts ARGS="--campaigns results/layouts"
    make bench NAME=layouts ARGS="--campaigns results/layouts --workloads insert --only-measure"

Question: does `predict` tell what a layout does, from runs of one disk alone? Truth is measured:
PostgreSQL on emulated disks of this machine, three runs of each layout in an order that alternates,
with the demo's windows of 30 s. The layouts are P15 alone, P15 with its log on P30, two striped
P15, and P30 alone.

Method: each layout is predicted from the runs of P15 alone and from those of P30 alone. A quiet run
of each with one session, which no cap holds back, stands beside them; `--without-quiet` leaves it
out, and a disk that was at its cap then predicts nothing. No prediction sees a run of
the layout that it predicts. What the folder has is not measured again. A workload takes some 12
minutes. docs/research/LAYOUTS.md has the figures.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.analysis import metric_values
from orchestrator.analysis.metric_values import Key
from orchestrator.analysis.predictions import Estimate
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.statistics.stats import Summary, summarise
from orchestrator.errors import UsageError
from orchestrator.extensions.predict.prediction import FIGURES, Predictor
from orchestrator.metrics import METRICS
from orchestrator.system import campaign_folders, store
from orchestrator.units import format_quantity

WORKLOADS = ("point-select", "insert", "tpcc")
# Name of a profile → its key `tier`.
LAYOUTS = {
    "p15": "azure/P15",
    "p15-log-p30": "{type: azure/P15, wal: azure/P30}",
    "two-p15": "{type: azure/P15, count: 2}",
    "p30": "azure/P30",
}
TITLES = {
    "p15": "P15",
    "p15-log-p30": "P15, log on P30",
    "two-p15": "2 × P15",
    "p30": "P30",
}
SOURCES = ("p15", "p30")  # single disks, from which the layouts are predicted
# Kind of campaign → its load: windows as those of `make demo`, and a quiet run.
LOADS = {
    "full": "--repeats 3 --set warmup=1s --set measure=30s",
    "quiet": "--repeats 1 --set warmup=1s --set measure=10s --set threads=1",
}
CONFIDENCE = 0.9  # of the intervals of measurements, as those of predictions have it


@dataclass(frozen=True)
class Comparison:
    """A figure of a layout, as it was predicted and as it was measured. `is_upwards`: the layout is
    predicted to be faster than the disk that was measured."""

    workload: str
    source: str
    layout: str
    metric: str
    predicted: Estimate
    measured: Summary
    is_upwards: bool
    limit: str

    @property
    def is_inside(self) -> bool:
        """Whether the mean of what was measured is within the prediction's interval."""
        return self.predicted.low <= self.measured.mean <= self.predicted.high

    @property
    def error_pct(self) -> float:
        return 100 * (self.predicted.value / self.measured.mean - 1)


# ------------------------------------------------------------------ measuring


def campaign_of(folder: Path, workload: str, kind: str) -> Results:
    """The campaign of a workload; it is measured if the folder has none."""
    kept = folder.resolve() / f"{workload}-{kind}"
    if campaign_folders.newest(kept) is None:
        names = list(LAYOUTS)
        if kind == "quiet":
            names = list(SOURCES)
        files = [str(_profile(folder, name)) for name in names]
        words = ["compare", "--profiles", ",".join(files), "--workloads", workload]
        words += ["--results", str(kept), "--db", "postgresql", "--nodes", "1"]
        words += ["--scale", "smoke", *LOADS[kind].split()]
        command = [sys.executable, "-m", "orchestrator", *words]
        # An answer that is open ends with another code than 0.
        subprocess.run(command, check=False)
    newest = campaign_folders.newest(kept)
    assert newest is not None, f"no campaign was measured in {kept}"
    return store.load(newest)


def _profile(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder.resolve() / f"{name}.yaml"
    lines = (
        "question: What does this layout of disks do?",
        f"title: {TITLES[name]}",
        "cluster: azure-d8s-v5",
        f"tier: {LAYOUTS[name]}",
    )
    file.write_text("\n".join(lines) + "\n")
    return file


# ------------------------------------------------------------------ predicting


def comparisons(folder: Path, workload: str, with_quiet: bool) -> Iterator[Comparison]:
    """Each layout of a workload, predicted from each single disk but itself."""
    full = campaign_of(folder, workload, "full")
    campaign = full
    if with_quiet:
        quiet = campaign_of(folder, workload, "quiet")
        beside = [_numbered_behind(run) for run in quiet.done]
        campaign = replace(full, runs=(*full.runs, *beside))
    for source in SOURCES:
        runs = _runs_of(full, source)
        try:
            predictor = Predictor(campaign, runs[0])
        except UsageError as refusal:
            print(f"{workload}, from {TITLES[source]}: refused, as {refusal.what}")
            continue
        for profile in campaign.plan.profiles:
            if profile.name != source:
                truth = _runs_of(full, profile.name)
                yield from _figures(workload, source, predictor, truth)


def _numbered_behind(quiet: RunData) -> RunData:
    """A run of the quiet campaign with a number that the full one does not have."""
    record = quiet.record
    run = replace(record.run, number=1000 + record.run.number)
    return replace(quiet, record=replace(record, run=run))


def _runs_of(campaign: Results, profile: str) -> list[RunData]:
    return [run for run in campaign.done if run.record.run.profile == profile]


def _figures(
    workload: str, source: str, predictor: Predictor, truth: Sequence[RunData]
) -> Iterator[Comparison]:
    profile = truth[0].record.profile
    prediction = predictor.predict(profile.tier)
    for key in FIGURES:
        measured = _summary(truth, key)
        metric, _ = key
        predicted = prediction.figures.get(metric)
        if measured is None or predicted is None:
            continue
        yield Comparison(
            workload,
            source,
            profile.name,
            metric,
            predicted,
            measured,
            prediction.upwards,
            prediction.limit,
        )


def _summary(runs: Sequence[RunData], key: Key) -> Summary | None:
    values = metric_values.whole(runs, key)
    if not values:
        return None
    return summarise(values, CONFIDENCE)


# ------------------------------------------------------------------ tables


def measured_table(folder: Path, workloads: Sequence[str]) -> Iterator[str]:
    """Lines of Markdown: what each layout did."""
    yield "| workload | layout | throughput | average | p99 |"
    yield "| --- | --- | --- | --- | --- |"
    for workload in workloads:
        campaign = campaign_of(folder, workload, "full")
        for name, title in TITLES.items():
            cells = [workload, title]
            for key in FIGURES:
                summary = _summary(_runs_of(campaign, name), key)
                cells.append(_measured_in_words(key[0], summary))
            yield f"| {' | '.join(cells)} |"


def predicted_table(rows: Sequence[Comparison]) -> Iterator[str]:
    """Lines of Markdown: predicted against measured, a row for each figure."""
    yield (
        "| workload | from | layout | figure | predicted | measured | error | | limit |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        inside = "MISSED"
        if row.is_inside:
            inside = "inside"
        estimate = row.predicted
        low = _shown(row.metric, estimate.low)
        high = _shown(row.metric, estimate.high)
        cells = [
            row.workload,
            TITLES[row.source],
            TITLES[row.layout],
            METRICS[row.metric].title,
            f"{_shown(row.metric, estimate.value)} ({low} to {high})",
            _measured_in_words(row.metric, row.measured),
            f"{row.error_pct:+.0f} %",
            inside,
            row.limit,
        ]
        yield f"| {' | '.join(cells)} |"


def _measured_in_words(metric: str, summary: Summary | None) -> str:
    if summary is None:
        return "–"
    text = _shown(metric, summary.mean)
    if summary.ci_low is None or summary.ci_high is None:
        return text
    low = _shown(metric, max(0.0, summary.ci_low))
    high = _shown(metric, summary.ci_high)
    return f"{text} ({low} to {high})"


def _shown(metric: str, value: float) -> str:
    return format_quantity(value, METRICS[metric].unit)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--campaigns", type=Path, default=Path("results/layouts"), metavar="DIR"
    )
    parser.add_argument("--workloads", nargs="+", default=WORKLOADS)
    parser.add_argument("--only-measure", action="store_true")
    parser.add_argument("--without-quiet", action="store_true")
    options = parser.parse_args(arguments)
    rows: list[Comparison] = []
    for workload in options.workloads:
        campaign_of(options.campaigns, workload, "full")
        if not options.without_quiet:
            campaign_of(options.campaigns, workload, "quiet")
        if not options.only_measure:
            with_quiet = not options.without_quiet
            rows += comparisons(options.campaigns, workload, with_quiet)
    if options.only_measure:
        return 0
    for line in measured_table(options.campaigns, options.workloads):
        print(line)
    print()
    for line in predicted_table(rows):
        print(line)
    inside = sum(row.is_inside for row in rows)
    print(f"\n{inside} of {len(rows)} figures are within their intervals")
    return 0


if __name__ == "__main__":
    sys.exit(main())

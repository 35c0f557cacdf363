"""A loaded campaign, `Results`: plan, records and their tables, and how to pick from them. Pure.

Most commands look at plan and records alone. So what reads tables is imported when one is read.
"""

from __future__ import annotations

import math
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from orchestrator import model, tier
from orchestrator.analysis.doubts import validity
from orchestrator.analysis.predictions import Prediction
from orchestrator.analysis.telemetry.counters.sample_tables import Samples
from orchestrator.design.factors import is_of_others
from orchestrator.facts import (
    DatabaseFacts,
    GeneratorFacts,
    IdentityFacts,
    NoteKind,
    group,
)
from orchestrator.model import (
    Measurement,
    Phase,
    Plan,
    Profile,
    Record,
    Run,
    Workload,
)

if TYPE_CHECKING:
    import pandas as pd

    from orchestrator.analysis.run_values import ComparedValues
    from orchestrator.analysis.telemetry.use.node_values import Evidence
    from orchestrator.analysis.telemetry.use.run_telemetry import Telemetry

# Notes on the campaign's own files: one is passed over, or is read although it was changed.
ABOUT_FILES: tuple[NoteKind, ...] = ("left out", "changed file")
Cell = tuple[str, str]  # profile, workload
_FULL_SCALES = ("study", "study-20")  # scales with the sizes of the published study


@dataclass(frozen=True)
class RunData:
    """One run as stored. Its tables are read when they are asked for.

    read_intervals: what reads `intervals`.
    intervals: time_s (Unix), phase, throughput_per_s, latency_avg_s, latency_p50_s,
        latency_p95_s, latency_p99_s, errors: one row per second; its columns alone if none is left.
    sampled: counters as read, of which there may be more than memory should hold.
    transactions: reads all transactions (see `transactions.py`), of which there may be more than
        memory holds, as tables in order of start, anew at each call; none if the run kept none."""

    record: Record
    read_intervals: Callable[[], pd.DataFrame] = field(compare=False)
    sampled: Samples = field(compare=False)
    transactions: Callable[[], Iterator[pd.DataFrame]] = field(
        default=lambda: iter(()), compare=False
    )

    @cached_property
    def intervals(self) -> pd.DataFrame:
        return self.read_intervals()

    @cached_property
    def seen_of_nodes(self) -> dict[float | None, dict[str, Evidence]]:
        """What `node_use.gather` has found so far, by the machine's cores."""
        return {}

    @cached_property
    def compared(self) -> ComparedValues:
        """What of it is compared with other runs."""
        from orchestrator.analysis import run_values

        return run_values.of_record(self.record)

    @cached_property
    def telemetry(self) -> Telemetry:
        """What judging and charts need of the samples, which are read once for all of it."""
        from orchestrator.analysis.telemetry.use import run_telemetry

        return run_telemetry.read(
            self.record, self.sampled, measured_window(self.record)
        )


@dataclass(frozen=True)
class Verified:
    """When a campaign's figures were last counted again from its raw files, and how many
    `differences` there were. `checksum`: that of the campaign then (`store.checksum`)."""

    time_s: float
    differences: int
    checksum: str
    tierbench: str


@dataclass(frozen=True)
class Loss:
    """What became of a planned run that left no figures that count, and why."""

    fate: Literal["excluded", "not carried out", "failed", "interrupted"]
    why: str = ""

    @property
    def label(self) -> str:
        """For a cell of a table: `interrupted: node-1 stopped answering`."""
        if not self.why:
            return self.fate
        return f"{self.fate}: {self.why}"

    def predicate(self, runs: int = 1) -> str:
        """What a sentence says of so many runs: `were interrupted: node-1 stopped answering`."""
        # A run fails by itself; all else is done to it.
        if self.fate == "failed":
            return self.label
        if runs == 1:
            return f"was {self.label}"
        return f"were {self.label}"


@dataclass(frozen=True)
class Results:
    """One results folder, loaded.

    name: of the campaign.
    fingerprint: the machine and programs that began it. later_fingerprints: of each part that
        `resume` went on with; empty if it left none.
    runs: those that left a record, whatever became of them.
    gates: all truth gates, in the order of time.
    so_far: number of a run that has not finished → the figures of the points measured by now.
    checksum: of its files (`store.checksum`), or empty.
    predictions: of other tiers, if that was asked.
    verified: None if that was not kept.
    changed_files: those that are not as they were written, as paths in the folder.
    """

    name: str
    plan: Plan
    fingerprint: Mapping[str, Any]
    runs: tuple[RunData, ...]
    gates: tuple[tier.Gate, ...] = ()
    so_far: Mapping[int, tuple[Measurement, ...]] = field(default_factory=dict)
    checksum: str = ""
    predictions: tuple[Prediction, ...] = ()
    later_fingerprints: tuple[Mapping[str, Any], ...] = ()
    verified: Verified | None = None
    changed_files: frozenset[str] = frozenset()

    @property
    def small_scale(self) -> str:
        """Its scale, if it has less data and shorter runs than the published study; or empty."""
        if self.plan.scale in _FULL_SCALES:
            return ""
        return self.plan.scale

    @cached_property
    def by_number(self) -> Mapping[int, RunData]:
        """The runs that left a record, by number."""
        return {run.record.run.number: run for run in self.runs}

    @cached_property
    def done(self) -> tuple[RunData, ...]:
        """The runs that finished, whether they count or not, in the order of their numbers."""
        done = (run for run in self.runs if run.record.outcome == "done")
        return tuple(sorted(done, key=lambda run: run.record.run.number))

    @cached_property
    def excluded(self) -> Mapping[int, tuple[model.Doubt, ...]]:
        """Finished runs that do not count → the doubts for which they do not."""
        excluded: dict[int, tuple[model.Doubt, ...]] = {}
        for run in self.done:
            doubts = validity.excluding(run.record)
            if doubts:
                excluded[run.record.run.number] = doubts
        return excluded

    @cached_property
    def counting(self) -> Mapping[Cell, Sequence[RunData]]:
        """The finished runs of each cell that may enter results, in the order of their numbers."""
        # A folder may have records of runs that its plan has no more.
        numbers = {run.number for run in self.plan.runs} - self.excluded.keys()
        by_cell: dict[Cell, list[RunData]] = {}
        for data in self.done:
            run = data.record.run
            if run.number in numbers:
                by_cell.setdefault((run.profile, run.workload), []).append(data)
        return by_cell

    def loss(self, run: Run) -> Loss | None:
        """Why a planned run left no figures that count; None if it left some."""
        doubts = self.excluded.get(run.number)
        if doubts:
            return Loss("excluded", f"{doubts[0].kind}: {doubts[0].text}")
        if run.number not in self.by_number:
            return Loss("not carried out")
        record = self.by_number[run.number].record
        if record.outcome == "done":
            return None
        why = (record.failure or "no reason was recorded").strip().rstrip(".")
        return Loss(record.outcome, why)


# ------------------------------------------------------------------ runs by cell


def finished(campaign: Results, profile: str, workload: str) -> tuple[RunData, ...]:
    """The runs of a cell that may enter results, in the order of their numbers."""
    return tuple(campaign.counting.get((profile, workload), ()))


@dataclass(frozen=True)
class CellRuns:
    """A profile × workload of the plan: its planned runs, the finished, and those excluded."""

    profile: Profile
    workload: Workload
    planned: tuple[Run, ...]
    finished: tuple[RunData, ...]
    excluded: tuple[Run, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.profile.name} × {self.workload.name}"

    @property
    def missing(self) -> bool:
        """Whether it was planned and has no finished run that counts."""
        return bool(self.planned) and not self.finished

    @property
    def without_figures(self) -> str:
        """What a missing cell lacks."""
        if self.excluded:
            return "no finished run that counts"
        return "no finished run"


def cells(campaign: Results) -> Iterator[CellRuns]:
    """Workload by workload, in the plan's order."""
    for workload in campaign.plan.workloads:
        for profile in campaign.plan.profiles:
            yield _cell(campaign, profile, workload)


def _cell(campaign: Results, profile: Profile, workload: Workload) -> CellRuns:
    names = (profile.name, workload.name)
    runs = campaign.plan.runs
    planned = tuple(run for run in runs if (run.profile, run.workload) == names)
    return CellRuns(
        profile,
        workload,
        planned,
        finished=finished(campaign, *names),
        excluded=tuple(run for run in planned if run.number in campaign.excluded),
    )


# ------------------------------------------------------------------ when it was measured


class TimeSpan(NamedTuple):
    """From when to when, in Unix seconds."""

    begin_s: float
    end_s: float


def began_s(campaign: Results) -> float | None:
    """When its first run began, in Unix seconds; None if no run did."""
    span = span_s(campaign.runs)
    if span:
        return span.begin_s
    return None


def span_s(runs: Iterable[RunData]) -> TimeSpan | None:
    """When the first run began and the last one ended, in Unix seconds; None if no run began."""
    phases = _phases(runs)
    if not phases:
        return None
    begin_s = min(phase.start_s for phase in phases)
    end_s = max(phase.end_s for phase in phases)
    return TimeSpan(begin_s, end_s)


def measuring_pct(campaign: Results) -> float | None:
    """The share of a campaign's time, in %, in which its load generators ran: warm-ups and windows
    against all from the first run's begin to the last one's end. None if no run came that far."""
    useful_s = 0.0
    for phase in _phases(campaign.runs):
        if phase.name in ("warm-up", "measure"):
            useful_s += phase.duration_s
    span = span_s(campaign.runs)
    if span is None or useful_s <= 0:
        return None
    return 100 * useful_s / (span.end_s - span.begin_s)


def _phases(runs: Iterable[RunData]) -> list[Phase]:
    phases: list[Phase] = []
    for run in runs:
        phases += run.record.phases
    return phases


def measured_window(record: Record) -> tuple[float, float] | None:
    """Start and end (Unix seconds) of the measured window, if the run came that far."""
    phase = record.phase("measure")
    if phase and phase.duration_s > 0:
        return (phase.start_s, phase.end_s)
    return None


def measured_s(record: Record) -> float:
    """How long was measured of one load: as planned, or until its work was done."""
    # A matrix measures for longer than one of its loads. Work may be done before its time is over.
    start_s, end_s = measured_window(record) or (0.0, math.inf)
    return min(end_s - start_s, record.workload.measure_s)


# ------------------------------------------------------------------ what else was recorded


def machine_cpus(campaign: Results) -> float | None:
    """Cores of the machine that ran the campaign, from its fingerprint."""
    cpus = group(campaign.fingerprint, "host").get("cpus")
    if isinstance(cpus, (int, float)) and cpus > 0:
        return float(cpus)
    return None


def left_out(campaign: Results) -> tuple[str, ...]:
    """Files that are passed over, and those that were changed, a phrase each."""
    texts: list[str] = []
    for note in campaign.plan.notes:
        if note.kind in ABOUT_FILES:
            texts.append(note.text)
    return tuple(texts)


def database(record: Record) -> DatabaseFacts:
    """What the database said of itself after the run."""
    return record.read_facts.database


def database_before(record: Record) -> DatabaseFacts:
    """What the database said of itself just before the warm-up."""
    return record.read_facts.database_before


def generator(record: Record) -> GeneratorFacts:
    """What the load generator said of the run."""
    return record.read_facts.generator


def identity(record: Record) -> IdentityFacts:
    """What took part in the run beside its profile and workload; older records have nothing."""
    return record.read_facts.identity


def is_existing(record: Record) -> bool:
    """Whether others run the cluster: then its nodes and settings are not ours to change."""
    return is_of_others(record.profile.cluster)

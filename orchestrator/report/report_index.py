"""A campaign and its verdict, indexed as the report reads them: by cell, by delta, by doubt. No
figure is computed here: what is shown comes from `Verdict` and the records."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from orchestrator.analysis import conclusions, overload, results
from orchestrator.model import Doubt, Profile, Run, Workload
from orchestrator.planning import factors
from orchestrator.report import blocks, wording
from orchestrator.report.wording import closed, ranges, sentence, some, spanning
from orchestrator.units import gathered

NEW_ORDER = "new_order"


@dataclass(frozen=True)
class ReportIndex:
    """Read by the modules that make sections."""

    campaign: results.Results
    verdict: conclusions.Verdict

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The baseline first, then in the plan's order: the order of rows, legends and colours."""
        profiles = self.campaign.plan.profiles
        return tuple(
            sorted(profiles, key=lambda profile: profile.name != self.verdict.baseline)
        )

    @property
    def tiers(self) -> tuple[str, ...]:
        return tuple(profile.name for profile in self.profiles)

    @property
    def contenders(self) -> tuple[str, ...]:
        names = (profile.name for profile in self.campaign.plan.tiers)
        return tuple(name for name in names if name != self.verdict.baseline)

    @property
    def twin(self) -> str | None:
        """The second name of the baseline, if it was measured twice."""
        return self.campaign.plan.twin

    @property
    def workloads(self) -> tuple[Workload, ...]:
        return self.campaign.plan.workloads

    @property
    def subjects(self) -> tuple[str, ...]:
        """What decisions are made on: workloads, the loads of a sweep together as one."""
        return tuple(dict.fromkeys(map(factors.subject, self.workloads)))

    def overloaded(self, profile: str, workload: str) -> bool:
        """Whether any of its runs served less than it was asked for."""
        return any(
            overload.overloaded(run.record) for run in self.finished(profile, workload)
        )

    def opening(self, text: str) -> str:
        """A sentence with a capital at the start, unless a tier's name stands there."""
        return (
            closed(text)
            if text.split(" ", 1)[0].rstrip(":,") in self.tiers
            else sentence(text)
        )

    # -------------------------------------------------------------- values

    @cached_property
    def _cells(self) -> Mapping[tuple[str, str, str, str], conclusions.CellSummary]:
        return {
            (c.profile, c.workload, c.metric, c.scope): c for c in self.verdict.cells
        }

    @cached_property
    def _deltas(self) -> Mapping[tuple[str, str, str, str], conclusions.Delta]:
        deltas = (*self.verdict.deltas, *self.verdict.noise_floor)
        return {(d.contender, d.workload, d.metric, d.scope): d for d in deltas}

    def is_tpcc_derived(self, workload: str) -> bool:
        """Whether New-Orders were counted, or the data set is TPC-C's."""
        named = self.campaign.plan.workload(workload).dataset.family.startswith("tpcc")
        return named or any(
            (of, m) == (workload, "nopm") for _, of, m, _ in self._cells
        )

    def throughput_metric(self, workload: str) -> str:
        of_rows = any(
            names[1:3] == (workload, "payload_bytes_per_s") for names in self._cells
        )
        rate = "payload_bytes_per_s" if of_rows else "throughput_per_s"
        return "nopm" if self.is_tpcc_derived(workload) else rate

    def latency_scope(self, workload: str) -> str:
        """New-Order if the workload has it: the transaction the specification reports first."""
        scoped = any((of, s) == (workload, NEW_ORDER) for _, of, _, s in self._cells)
        return NEW_ORDER if scoped else "all"

    def _key(self, workload: str, metric: str) -> tuple[str, str]:
        """Metric and scope. `metric`: with a scope before it, if that is not the usual."""
        scope, _, metric = metric.rpartition(" ")
        usual = self.latency_scope(workload) if metric.startswith("latency_") else "all"
        return metric, scope or usual

    def cell(
        self, profile: str, workload: str, metric: str, transaction_type: str = ""
    ) -> conclusions.CellSummary | None:
        """The value that a report shows for a metric: that of a type of transactions, if one is
        given, else New-Order's latency if there is one."""
        metric, usual = self._key(workload, metric)
        return self._cells.get((profile, workload, metric, transaction_type or usual))

    def has_p99(self, cells: Iterable[tuple[str, str]]) -> bool:
        """Whether each of these cells (tier, workload) that has a latency has its p99. Runs of too
        few transactions have none; a chart of all tiers then shows the average."""
        return all(
            self.cell(tier, workload, "latency_p99_s") is not None
            for tier, workload in cells
            if self.cell(tier, workload, "latency_avg_s") is not None
        )

    def transaction_types(self, workload: str) -> tuple[str, ...]:
        """Those that were counted apart; none if all transactions are of one type."""
        names = (workload, "transactions")
        counted = (
            c.scope for c in self.verdict.cells if (c.workload, c.metric) == names
        )
        return tuple(dict.fromkeys(scope for scope in counted if scope != "all"))

    def busiest(
        self, profile: str, workload: str, metric: str
    ) -> conclusions.CellSummary | None:
        """The value of the node where it is highest; None if no node has its own."""
        names = (profile, workload, metric)
        nodes = (
            cell
            for key, cell in self._cells.items()
            if key[:3] == names and key[3] != "all"
        )
        return max(nodes, key=lambda cell: cell.mean, default=None)

    def has(self, metric: str) -> bool:
        """Whether any cell of the campaign has the metric: else nothing need be said of it."""
        return any(cell.metric == metric for cell in self.verdict.cells)

    def delta(
        self, contender: str, workload: str, metric: str
    ) -> conclusions.Delta | None:
        return self._deltas.get((contender, workload, *self._key(workload, metric)))

    # -------------------------------------------------------------- cells of tables

    def value_cell(
        self,
        profile: str,
        workload: str,
        summary: conclusions.CellSummary | None,
        words: Callable[[conclusions.CellSummary], str] = wording.value,
    ) -> blocks.Cell:
        """A value with its spread. What finished runs did not measure is told from lost runs."""
        if summary is None:
            return blocks.Cell(self.absence(profile, workload), missing=True)
        return blocks.Cell(words(summary), detail=wording.spread(summary))

    def rows(self, row: Callable[[str, str], blocks.Row]) -> Iterator[blocks.Row]:
        """Each workload as a heading, and below it the `row` of each tier."""
        for workload in self.workloads:
            yield workload.name
            yield from (row(tier, workload.name) for tier in self.tiers)

    def absence(self, profile: str, workload: str) -> str:
        absent = "not published" if self.campaign.published else "not measured"
        return absent if self.finished(profile, workload) else "missing"

    def metric_cells(
        self,
        profile: str,
        workload: str,
        titles: Mapping[str, str],
        transaction_type: str = "",
    ) -> dict[str, blocks.Cell]:
        """Column's title → value, of metric → column's title."""
        of = profile, workload
        return {
            title: self.value_cell(*of, self.cell(*of, metric, transaction_type))
            for metric, title in titles.items()
        }

    # -------------------------------------------------------------- runs

    @cached_property
    def _of_cell(self) -> Mapping[tuple[str, str], results.CellRuns]:
        return {
            (c.profile.name, c.workload.name): c for c in results.cells(self.campaign)
        }

    def planned(self, profile: str, workload: str) -> tuple[Run, ...]:
        return self._of_cell[profile, workload].planned

    def finished(self, profile: str, workload: str) -> tuple[results.RunData, ...]:
        return self._of_cell[profile, workload].finished

    def losses(self, runs: Iterable[Run]) -> tuple[str, ...]:
        """A sentence for each reason, with the runs that were lost by it."""
        lost = gathered(
            (loss, run) for run in runs if (loss := self.campaign.lost(run))
        )
        return tuple(_lost(of_it, loss) for loss, of_it in lost.items())

    @property
    def tiers_with_figures(self) -> tuple[str, ...]:
        left = {
            run.profile
            for run in self.campaign.plan.runs
            if not self.campaign.lost(run)
        }
        return tuple(tier for tier in self.tiers if tier in left)

    # -------------------------------------------------------------- doubts

    @cached_property
    def footnotes(self) -> tuple[blocks.Footnote, ...]:
        """Doubts of one kind and advice share a number, in order of first appearance."""
        of_runs = [
            doubt for doubt in self.verdict.doubts if doubt.run is not None
        ]  # else stamps
        kinds = gathered(((doubt.kind, doubt.advice), doubt) for doubt in of_runs)
        numbered = enumerate(kinds.values(), start=1)
        return tuple(self._footnote(number, doubts) for number, doubts in numbered)

    def _footnote(self, number: int, doubts: Sequence[Doubt]) -> blocks.Footnote:
        texts = spanning([sentence(doubt.text.strip()) for doubt in doubts])
        runs = frozenset(doubt.run for doubt in doubts if doubt.run is not None)
        where = f"run {min(runs)}" if len(runs) == 1 else f"runs {ranges(runs)}"
        if runs >= self._finished and len(self._finished) > 1:
            where = "every finished run"
        return blocks.Footnote(
            number, some(texts), sentence(doubts[0].advice.strip()), where, runs
        )

    @cached_property
    def _finished(self) -> frozenset[int]:
        return frozenset(run.record.run.number for run in self.campaign.done)

    def notes(self, workload: str, *profiles: str) -> tuple[int, ...]:
        """Numbers of the footnotes that touch any run of these cells; not of those about every
        finished run, which are said once, below."""
        numbers = {
            run.number for name in profiles for run in self.planned(name, workload)
        }
        touching = (note for note in self.footnotes if note.runs & numbers)
        return tuple(
            note.number for note in touching if not self._finished <= note.runs
        )


_CELLS_NAMED = 3


def _lost(runs: Sequence[Run], loss: str) -> str:
    """`Runs 2, 11 (premium × insert) were not carried out.`; many cells are counted instead."""
    cells = list(dict.fromkeys(f"{run.profile} × {run.workload}" for run in runs))
    named = ", ".join(cells) if len(cells) <= _CELLS_NAMED else f"{len(cells)} cells"
    word = "Run" if len(runs) == 1 else "Runs"
    befell = loss if len(runs) == 1 else re.sub("^was", "were", loss)
    return closed(f"{word} {ranges(run.number for run in runs)} ({named}) {befell}")

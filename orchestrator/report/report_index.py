"""A campaign and its verdict, indexed as the report reads them: by cell, by delta, by doubt. No
figure is computed here: what is shown comes from `Verdict` and the records."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator.analysis import conclusions, overload, recoveries, results
from orchestrator.analysis.answers import headline_figures, lost_runs
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.campaign import campaign_answer
from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.answers.untested_words import is_untested
from orchestrator.model import Doubt, Run, Workload
from orchestrator.report import blocks, wording
from orchestrator.report.wording import ranges, sentence, some, spanning

_OF_EMULATED_DISKS = "That holds for emulated disks: real ones were not measured."


@dataclass(frozen=True)
class ReportIndex(Asked):
    """Read by the modules that make sections, which show more of it than the answer does."""

    @cached_property
    def answer(self) -> Answer:
        """What to buy and why; made anew for a verdict that has none."""
        if self.verdict.answer is not None:
            return self.verdict.answer
        return campaign_answer(self.campaign, self.verdict)

    @property
    def status_text(self) -> str:
        """The sentences beside the word that says how sure the answer is."""
        sentences = list(self.answer.sureness.details)
        # The word alone would claim more than was measured.
        is_claimed = self.answer.sureness.word in ("conclusive", "partly conclusive")
        if is_claimed and is_untested(self.answer, "real disks"):
            sentences.insert(0, _OF_EMULATED_DISKS)
        return " ".join(sentences)

    @property
    def twin(self) -> str | None:
        """The second name of the baseline, if it was measured twice."""
        return self.campaign.plan.twin

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The workloads in the plan's order."""
        return self.campaign.plan.workloads

    def overloaded(self, profile: str, workload: str) -> bool:
        """Whether any of its runs served less than it was asked for."""
        runs = self.finished(profile, workload)
        return any(overload.overloaded(run.record) for run in runs)

    # -------------------------------------------------------------- values

    def has_p99(self, cells: Iterable[tuple[str, str]]) -> bool:
        """Whether each of these cells (tier, workload) that has a latency has its p99. Runs of too
        few transactions have none; a chart of all tiers then shows the average."""
        for tier, workload in cells:
            average = self.figures.cell(tier, workload, headline_figures.LATENCY_AVG)
            p99 = self.figures.cell(tier, workload, headline_figures.LATENCY_P99)
            # One tier's average beside another's p99 would be no comparison.
            if average is not None and p99 is None:
                return False
        return True

    def transaction_types(self, workload: str) -> tuple[str, ...]:
        """The transaction types that were counted apart; none if there is only one type."""
        types: list[str] = []
        for cell in self.verdict.cells:
            # Each type that was counted apart has this figure, and no node has it.
            is_count = (cell.workload, cell.metric) == (workload, "transactions")
            if is_count and cell.scope not in ("all", *types):
                types.append(cell.scope)
        return tuple(types)

    def busiest(
        self, profile: str, workload: str, metric: str
    ) -> conclusions.CellSummary | None:
        """The value of the node where it is highest; None if no node has its own."""
        nodes: list[conclusions.CellSummary] = []
        for key, cell in self.figures.cells.items():
            cell_profile, cell_workload, cell_metric, scope = key
            # Figures of all nodes together have the scope of all types.
            is_of_node = scope != headline_figures.ALL_TYPES
            is_asked = (cell_profile, cell_workload) == (profile, workload)
            if is_asked and cell_metric == metric and is_of_node:
                nodes.append(cell)
        return max(nodes, key=_mean, default=None)

    # -------------------------------------------------------------- cells of tables

    def value_cell(
        self,
        profile: str,
        workload: str,
        summary: conclusions.CellSummary | None,
        words: Callable[[conclusions.CellSummary], str] = wording.value,
        metric: str = "",
    ) -> blocks.Cell:
        """A value with its spread, and of how many runs it is if not of all.

        If there is none, the cell says whether finished runs did not measure it or runs were lost.
        """
        # A gap says why it is one: an empty cell could be taken for zero.
        if summary is None:
            return blocks.absent(self.absence(profile, workload, metric))
        detail = wording.spread(summary)
        done = len(self.finished(profile, workload))
        # The others may lack it because they were the worst, as those that did not recover.
        if summary.n < done:
            detail = f"{detail} {summary.n} of {done} runs".strip()
        return blocks.Cell(words(summary), detail=detail)

    def rows(self, row: Callable[[str, str], blocks.Row]) -> Iterator[blocks.Row]:
        """Each workload as a heading, and below it the `row` of each tier."""
        for workload in self.workloads:
            yield workload.name
            for tier in self.tiers:
                yield row(tier, workload.name)

    def absence(self, profile: str, workload: str, metric: str = "") -> str:
        """What stands in the place of a value that is not there."""
        # "Missing" is a loss; "not measured" is no fault of the run.
        finished = self.finished(profile, workload)
        if not finished:
            return "missing"
        if metric == "recovery_s":
            return _no_recovery(finished)
        return "not measured"

    def metric_cells(
        self,
        profile: str,
        workload: str,
        titles: Mapping[str, str],
        transaction_type: str = "",
    ) -> dict[str, blocks.Cell]:
        """Column's title → value, of metric → column's title."""
        cells: dict[str, blocks.Cell] = {}
        for metric, title in titles.items():
            summary = self.figures.cell(profile, workload, metric, transaction_type)
            cells[title] = self.value_cell(profile, workload, summary, metric=metric)
        return cells

    # -------------------------------------------------------------- runs

    @cached_property
    def _runs_of_cells(self) -> Mapping[tuple[str, str], results.CellRuns]:
        by_names: dict[tuple[str, str], results.CellRuns] = {}
        for cell in results.cells(self.campaign):
            by_names[cell.profile.name, cell.workload.name] = cell
        return by_names

    def planned(self, profile: str, workload: str) -> tuple[Run, ...]:
        """All runs of a cell, also those that were lost."""
        return self._runs_of_cells[profile, workload].planned

    def finished(self, profile: str, workload: str) -> tuple[results.RunData, ...]:
        """The runs of a cell whose figures count."""
        return self._runs_of_cells[profile, workload].finished

    def losses(self, runs: Iterable[Run]) -> tuple[str, ...]:
        """A sentence for each reason, with the runs that were lost by it."""
        return lost_runs.losses(self.campaign, runs)

    @property
    def tiers_with_figures(self) -> tuple[str, ...]:
        """The tiers of which at least one run counts."""
        with_figures: set[str] = set()
        for run in self.campaign.plan.runs:
            if self.campaign.loss(run) is None:
                with_figures.add(run.profile)
        return tuple(tier for tier in self.tiers if tier in with_figures)

    # -------------------------------------------------------------- doubts

    @cached_property
    def footnotes(self) -> tuple[blocks.Footnote, ...]:
        """Doubts of one kind and advice share a number, in order of first appearance.

        Those about every finished run have none, and stand last.
        """
        # Those of no run in particular are stamps.
        alike: dict[tuple[str, str], list[Doubt]] = {}
        for doubt in self.verdict.doubts:
            if doubt.run is not None:
                alike.setdefault((doubt.kind, doubt.advice), []).append(doubt)
        numbered: list[blocks.Footnote] = []
        of_all_runs: list[blocks.Footnote] = []
        for group in alike.values():
            footnote = self._footnote(group)
            # A raised number at every figure tells none of them apart.
            if self._finished_runs <= footnote.runs:
                of_all_runs.append(footnote)
            else:
                numbered.append(replace(footnote, number=1 + len(numbered)))
        return (*numbered, *of_all_runs)

    def _footnote(self, doubts: Sequence[Doubt]) -> blocks.Footnote:
        # One sentence with the range of its numbers is read, and not twenty alike.
        texts = spanning([sentence(doubt.text.strip()) for doubt in doubts])
        runs = frozenset(doubt.run for doubt in doubts if doubt.run is not None)
        return blocks.Footnote(
            number=None,
            text=some(texts),
            advice=sentence(doubts[0].advice.strip()),
            where=self._runs_in_words(runs),
            runs=runs,
        )

    def _runs_in_words(self, runs: frozenset[int]) -> str:
        # The words "every finished run" would exaggerate if there is only one.
        if runs >= self._finished_runs and len(self._finished_runs) > 1:
            return "every finished run"
        if len(runs) == 1:
            return f"run {min(runs)}"
        return f"runs {ranges(runs)}"

    @cached_property
    def _finished_runs(self) -> frozenset[int]:
        return frozenset(run.record.run.number for run in self.campaign.done)

    def notes(self, workload: str, *profiles: str) -> tuple[int, ...]:
        """Numbers of the footnotes that touch any run of these cells; not of those about every
        finished run, which are said once, below."""
        runs: set[int] = set()
        for name in profiles:
            for run in self.planned(name, workload):
                runs.add(run.number)
        numbers: list[int] = []
        for note in self.footnotes:
            if note.number is not None and note.runs & runs:
                numbers.append(note.number)
        return tuple(numbers)


def _mean(cell: conclusions.CellSummary) -> float:
    return cell.mean


def _no_recovery(runs: Iterable[results.RunData]) -> str:
    """What stands in the place of a time to recover that no run has."""
    gaps: list[recoveries.RecoveryGap | None] = []
    for run in runs:
        gaps.append(recoveries.recovery_gap(run.record))
    if "not recovered" in gaps:
        return "not recovered"
    if "ended too soon" in gaps:
        return "window too short"
    return "not measured"

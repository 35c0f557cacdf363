"""Stored campaigns as pandas frames, for a notebook or a script of one's own:

    from orchestrator.api import open_campaign

    campaign = open_campaign("results/latest")
    campaign.runs().query("metric == 'throughput_per_s' and scope == 'all'")

Only reads: nothing is written into the campaign's folder. docs/notebooks/campaign.ipynb walks
through the frames."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results, RunData
from orchestrator.cli.measure import concluding
from orchestrator.report.exports import run_figures
from orchestrator.system import stored_campaigns

_OF_RUN = ["run", "profile", "workload", "repetition"]


@dataclass(frozen=True)
class Campaign:
    """A stored campaign, judged anew. `results` and `verdict` are the program's own records, of
    which docs/FILES.md describes the fields; the frames are made of them."""

    folder: Path
    results: Results
    verdict: Verdict

    @property
    def answer(self) -> Answer | None:
        """What to buy, at what price, why and how sure; None of an old campaign."""
        return self.verdict.answer

    def runs(self) -> pd.DataFrame:
        """A row for each figure of each planned run, as `tierbench export --format csv` has them.

        Columns: run, profile, disk, workload, repetition, outcome, excluded (yes or no), doubts,
        metric, scope, unit, direction, value. A run without figures has one row without a metric.
        """
        # The export makes the table, so that both have the same columns.
        text = run_figures.as_csv(self.results, self.verdict)
        return pd.read_csv(StringIO(text))

    def seconds(self) -> pd.DataFrame:
        """A row for each second of each run: run, profile, workload, repetition, time_s (Unix),
        phase, throughput_per_s, latencies in s, errors."""
        frames: list[pd.DataFrame] = []
        for data in self.results.runs:
            frames.append(_with_run(data, data.intervals))
        return _joined(frames)

    def latencies(self, run: int | None = None) -> pd.DataFrame:
        """A row for each transaction, in order of start, of one run or of all.

        Columns: those of a run, and those of latencies.parquet (docs/FILES.md). A long campaign
        has more of them than memory holds: give a `run`."""
        return _joined(list(self._transactions(run)))

    def _transactions(self, run: int | None) -> Iterator[pd.DataFrame]:
        for data in self.results.runs:
            if run in (None, data.record.run.number):
                for table in data.transactions():
                    yield _with_run(data, table)

    def telemetry(self, run: int | None = None) -> pd.DataFrame:
        """A row for each counter as it was read, of one run or of all; rates are not computed.

        Columns: those of a run, and time_s (Unix), node, metric, unit, value, phase."""
        return _joined(list(self._counters(run)))

    def _counters(self, run: int | None) -> Iterator[pd.DataFrame]:
        for data in self.results.runs:
            if run in (None, data.record.run.number):
                for part in data.sampled.parts():
                    yield _with_run(data, part)

    def verdicts(self) -> pd.DataFrame:
        """A row for each comparison of a tier with the baseline: workload, metric, scope, both
        tiers, change_pct, its interval, the verdict's word and its reason."""
        rows: list[dict[str, Any]] = []
        for delta in self.verdict.deltas:
            rows.append(asdict(delta))
        return pd.DataFrame(rows)


def open_campaign(
    campaign: str | Path = "latest", results: str | Path = "results", slo: str = ""
) -> Campaign:
    """Reads and judges a stored campaign: a folder, `latest`, or the name of a baseline.

    `results`: where campaigns are kept; `slo`: what is to be reached, instead of what the
    campaign's workloads say. UsageError if there is none, or if its files cannot be read."""
    folder = stored_campaigns.resolve(Path(results), str(campaign))
    return Campaign(folder, *concluding.judged(folder, slo or None))


def _with_run(data: RunData, table: pd.DataFrame) -> pd.DataFrame:
    """The table with the run that it is of in its first columns."""
    run = data.record.run
    # The table is the campaign's own, and may be asked for again.
    named = table.copy()
    named.insert(0, "run", run.number)
    named.insert(1, "profile", run.profile)
    named.insert(2, "workload", run.workload)
    named.insert(3, "repetition", run.repetition)
    return named


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    # An empty table has columns without types, which would change those of the others.
    whole = [frame for frame in frames if not frame.empty]
    if not whole:
        return pd.DataFrame(columns=_OF_RUN)
    return pd.concat(whole, ignore_index=True)

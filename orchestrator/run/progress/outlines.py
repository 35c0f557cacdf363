"""What is said of a campaign that goes on, as far as it has come: of each run an outline, which is
kept beside its record, so that a thousand records need not be read to say how long is left."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis import results
from orchestrator.analysis.metric_values import value_of
from orchestrator.metrics import NEW_ORDER, value_in_words
from orchestrator.model import Plan, Record, Run
from orchestrator.tier import Gate


@dataclass(frozen=True)
class RunOutline:
    """A run whose record is there."""

    run: Run
    # Outcome and failure as the record has them.
    outcome: str
    failure: str
    # The main ones, a phrase each.
    figures: tuple[str, ...]
    # Begin and end of its phases, in Unix time; None if it came to none.
    began_s: float | None
    ended_s: float | None
    # The name of its last phase, or empty.
    last_phase: str


@dataclass(frozen=True)
class CampaignOutline:
    """A campaign and those of its runs whose records are there. `name`: of its folder."""

    name: str
    plan: Plan
    gates: Sequence[Gate]
    runs: Sequence[RunOutline]

    @property
    def began_s(self) -> float | None:
        """When its first run began, in Unix time; None if no run did."""
        begins_s: list[float] = []
        for run in self.runs:
            if run.began_s is not None:
                begins_s.append(run.began_s)
        return min(begins_s, default=None)


def of_campaign(campaign: results.Results) -> CampaignOutline:
    """The outline of a campaign, from its records."""
    runs: list[RunOutline] = []
    for run in campaign.runs:
        runs.append(of_record(run.record))
    return CampaignOutline(campaign.name, campaign.plan, campaign.gates, runs)


def of_record(record: Record) -> RunOutline:
    began_s: float | None = None
    ended_s: float | None = None
    last_phase = ""
    if record.phases:
        began_s = record.phases[0].start_s
        ended_s = record.phases[-1].end_s
        last_phase = record.phases[-1].name
    return RunOutline(
        run=record.run,
        outcome=record.outcome,
        failure=record.failure or "",
        figures=tuple(_figures(record)),
        began_s=began_s,
        ended_s=ended_s,
        last_phase=last_phase,
    )


def _figures(record: Record) -> Iterator[str]:
    """The main figures of a run, as far as it has them."""
    for metric in ("throughput_per_s", "nopm"):
        rate = value_of(record, metric)
        if rate is not None:
            yield value_in_words(metric, rate)
    # The answer's p99 is New-Order's where there are such, and no other stands for it.
    scope = "all"
    whose = "p99"
    if any(measurement.scope == NEW_ORDER for measurement in record.measurements):
        scope = NEW_ORDER
        whose = "New-Order p99"
    p99_s = value_of(record, "latency_p99_s", scope)
    if p99_s is not None:
        yield f"{whose} {value_in_words('latency_p99_s', p99_s)}"

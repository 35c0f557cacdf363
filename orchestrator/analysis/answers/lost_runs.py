"""Planned runs that left no figures that count, in sentences. Pure."""

from collections.abc import Iterable, Sequence

from orchestrator.analysis.answers.phrases import closed, ranges
from orchestrator.analysis.results import Loss, Results
from orchestrator.model import Run
from orchestrator.texts import prose

_CELLS_NAMED = 3  # more are counted


def losses(campaign: Results, runs: Iterable[Run]) -> tuple[str, ...]:
    """A sentence for each reason, with the runs that were lost by it."""
    sentences: list[str] = []
    for claim in claims(campaign, runs):
        sentences.append(closed(claim))
    return tuple(sentences)


def claims(campaign: Results, runs: Iterable[Run]) -> tuple[str, ...]:
    """The same without full stops."""
    runs_by_loss: dict[Loss, list[Run]] = {}
    for run in runs:
        loss = campaign.loss(run)
        if loss is not None:
            runs_by_loss.setdefault(loss, []).append(run)
    texts: list[str] = []
    for loss, lost_runs in runs_by_loss.items():
        texts.append(loss_in_words(lost_runs, loss))
    return tuple(texts)


def loss_in_words(runs: Sequence[Run], loss: Loss) -> str:
    """`Runs 2, 11 (premium × insert) were not carried out`"""
    cells = list(dict.fromkeys(f"{run.profile} × {run.workload}" for run in runs))
    # All that was planned is lost if a machine dies: their names would fill the page.
    where = prose.counted(len(cells), "cell")
    if len(cells) <= _CELLS_NAMED:
        where = ", ".join(cells)
    numbers = ranges(run.number for run in runs)
    subject = "Runs"
    if len(runs) == 1:
        subject = "Run"
    return f"{subject} {numbers} ({where}) {loss.predicate(len(runs))}"

"""The table of one stored campaign against another."""

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.extensions.over_time import comparing
from orchestrator.metrics import METRICS
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Row, Table, absent, table_of
from orchestrator.texts import prose


def comparison(pair: comparing.CampaignComparison) -> Table:
    """The changes of each profile × workload, from one campaign to another."""
    by_title = units.gathered((_title(change), change) for change in pair.deltas)
    rows: list[Row] = []
    for title, changes in by_title.items():
        rows.append(title)
        for change in changes:
            rows.append(_change_row(change))
    return table_of(rows, ("Metric", "Verdict"), tuple(_remarks(pair)))


def _title(change: comparing.ProfileDelta) -> str:
    return f"{change.profile} × {change.delta.workload}"


def _change_row(change: comparing.ProfileDelta) -> Row:
    delta = change.delta
    metric = METRICS[delta.metric].title
    # Latencies of several types of transactions would else have one name.
    if delta.scope != "all":
        metric += f" ({delta.scope})"
    verdict = Cell("", word=delta.verdict)
    # The runs differ, but too few campaigns say whether days do so too. So it is no "worse".
    if change.changed_since:
        verdict = absent("changed since")
    words = units.format_change(delta.change_pct)
    runs = f"{delta.n_baseline} → {delta.n_contender}"
    cell = Cell(words, detail=wording.interval(delta))
    return {"Metric": metric, "Runs": runs, "Change": cell, "Verdict": verdict}


def _remarks(pair: comparing.CampaignComparison) -> Iterator[str]:
    margins = wording.margins(pair.margin_pct, pair.p99_margin_pct)
    yield f"Changes from {pair.before} to {pair.after}, with their 95 % interval."
    yield _what_intervals_hold(pair)
    # Two one-sided tests at 5 % are one interval of 90 %.
    yield f"Changes whose 90 % interval lies within {margins} count as the same."
    yield from _inconclusive(pair)
    yield from _only_in(pair.before, pair.only_before)
    yield from _only_in(pair.after, pair.only_after)
    for doubt in pair.doubts:
        yield f"Note: {doubt}."


def _what_intervals_hold(pair: comparing.CampaignComparison) -> str:
    counts: set[int] = set()
    for change in pair.deltas:
        # Fewer campaigns do not say what differs between days.
        if change.history >= comparing.FEWEST_HISTORY:
            counts.add(change.history)
    if not counts:
        return "Intervals allow for differences between runs of each side only."
    least = min(counts)
    most = max(counts)
    others = str(least)
    # Not every campaign has each profile, so their numbers may differ.
    if least < most:
        others = f"{least} to {most}"
    return f"Intervals allow for differences between {others} other campaigns."


def _inconclusive(pair: comparing.CampaignComparison) -> Iterator[str]:
    """A sentence for each reason, with where it holds."""
    titles = {_title(change) for change in pair.deltas}
    for reason, titles_of_reason in _titles_by_reason(pair).items():
        where = prose.listed(list(titles_of_reason))
        if len(titles_of_reason) == len(titles):
            where = "everywhere"
        yield f"Inconclusive, {where}: {reason}."


def _titles_by_reason(pair: comparing.CampaignComparison) -> dict[str, dict[str, None]]:
    by_reason: dict[str, dict[str, None]] = {}
    for change in pair.deltas:
        if change.delta.verdict == "inconclusive":
            titles = by_reason.setdefault(change.delta.reason, {})
            titles[_title(change)] = None
    return by_reason


def _only_in(folder: str, titles: Sequence[str]) -> Iterator[str]:
    if titles:
        yield f"Only in {folder}: {', '.join(titles)}."

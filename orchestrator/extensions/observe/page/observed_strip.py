"""The strip of an observation: hour by hour, how long each candidate would have been at its cap."""

from collections.abc import Hashable, Sequence
from typing import Any

from orchestrator.extensions.observe.judging.answered_observation import CandidateAnswer
from orchestrator.extensions.observe.page.observed_tables import (
    QUEUES,
    SLACK,
    WAITS,
    disk_row,
)
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.report.blocks import (
    Block,
    Chart,
    Charts,
    Paragraph,
)
from orchestrator.report.charts import charts

_DRAWINGS = shipped(__package__, "drawings.yaml")
_SHOWN_AT_A_STRIP = ("Answer", WAITS, QUEUES, SLACK, "Cap")
_HOUR_MS = 3_600_000
_Hour = dict[Hashable, Any]  # a mark of the strip: its fields by their names


def week_strip(candidates: Sequence[CandidateAnswer]) -> tuple[Block, ...]:
    """A strip of each candidate whose price is known."""
    labels: list[str] = []
    hours: list[_Hour] = []
    for candidate in candidates:
        if candidate.purchase.tier.price:
            row = disk_row(candidate)
            label = f"{row['Disk']} · {row['A month']} · {row['Answer']}"
            labels.append(label)
            hours.extend(_strip(candidate, label, row))
    about = (
        "A strip for each candidate, from cheap to expensive, hour by hour in UTC. "
        "Colour: the share of the hour at the cap, at most, from pale (0.01 %) to dark "
        "(100 %). Hatched: cannot be told. Grey: not read. Blue line below: burst credit "
        'left of the disk or its machine, if it was full at first. Where figures say "at '
        'least", both cover only what was read.'
    )
    strips_chart = Charts((_figure(labels, hours),), (), wide=True)
    return strips_chart, Paragraph(about)


def _strip(
    candidate: CandidateAnswer, label: str, row: dict[str, str]
) -> Sequence[_Hour]:
    """The hours of a candidate. Most disks have a week of hours that are alike, and all candidates'
    hours are twenty thousand marks: so hours in a row that are alike are one.

    Times are whole milliseconds, because figures of charts have six digits."""
    shown: _Hour = {title: row[title] for title in _SHOWN_AT_A_STRIP}
    # The sign of hatching stands in each hour.
    may_join = candidate.word != "cannot be told"
    strip: list[_Hour] = []
    shares_before: Sequence[str] = ()
    for judged in candidate.on.hours.rows():
        # Two digits: finer differences can hardly be seen, and would keep alike hours apart.
        shares = (f"{judged.upper:.2g}", f"{judged.credit:.2g}")
        # Vega takes times in milliseconds since 1970.
        begin_ms = round(1000 * judged.begin_s)
        end_ms = begin_ms + _HOUR_MS
        hour: _Hour = {
            "upper": float(shares[0]),
            "credit": float(shares[1]),
            "node": judged.node,
            "device": judged.device,
            "from": begin_ms,
            "to": end_ms,
            "candidate": label,
            **shown,
        }
        # Shares are compared as texts: NaN is unlike itself, and hours that were not read join too.
        if may_join and shares == shares_before and _follows(hour, strip[-1]):
            strip[-1]["to"] = end_ms
        else:
            strip.append(hour)
        shares_before = shares
    return strip


def _follows(hour: _Hour, before: _Hour) -> bool:
    """Whether an hour begins where the one before it ends, and is of the same disk."""
    # A gap between two hours must stay a gap in the strip.
    is_next = hour["from"] == before["to"]
    is_same_disk = hour["node"] == before["node"] and hour["device"] == before["device"]
    return bool(is_next and is_same_disk)


def _figure(labels: Sequence[str], hours: Sequence[_Hour]) -> Chart:
    spec = charts.laid_out(_DRAWINGS["week"], names=list(labels))
    title = "Share of each hour at the cap, at most, of every candidate"
    return charts.figure("week", title, spec, {"hours": hours})

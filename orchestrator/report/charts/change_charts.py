"""Changes against the baseline with their intervals, as dots and bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from orchestrator import units
from orchestrator.analysis.conclusions import Delta
from orchestrator.report import wording
from orchestrator.report.blocks import Chart
from orchestrator.report.charts import charts


def changes(
    name: str,
    deltas: Sequence[Delta],
    tiers: Sequence[str],
    margin_pct: float,
    title: str,
    better: str,
) -> Chart:
    """A dot per contender and workload with its interval; within the margin is shaded."""
    rows = [_change_row(delta) for delta in deltas]
    scale = alt.Scale(domain=list(_domain(deltas, margin_pct)), nice=False)
    x = alt.X("change:Q", title="change against the baseline, %", scale=scale)
    y = alt.Y("tier:N", title=None, sort=list(tiers), axis=alt.Axis(domain=False, ticks=False))
    tooltips = [
        alt.Tooltip("tier:N"),
        alt.Tooltip("told:N", title=title.lower()),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("verdict:N"),
    ]
    base = alt.Chart().encode(y=y, color=charts.colour(tiers, legend=False), tooltip=tooltips)
    layers = (
        _margin_shade(margin_pct),
        alt.Chart().mark_rule(color=charts.SHADE).encode(x=alt.datum(0)),
        base.mark_rule(strokeWidth=2, clip=True).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.mark_point(size=55, filled=True, opacity=1).encode(x=x),
    )
    workloads = list(dict.fromkeys(delta.workload for delta in deltas))
    header = alt.Header(title=None, labelAlign="left", labelAnchor="start", labelOrient="top")
    chart = (
        alt.layer(*layers, data=alt.NamedData("changes"))
        .properties(width=charts.WIDTH - 30, height=alt.Step(18))
        .facet(row=alt.Row("workload:N", sort=workloads, header=header), spacing=8)
        .properties(title=alt.Title(title, subtitle=better))
    )
    told = f"Change of {title.lower()} by tier"
    return charts.figure(name, told, chart.to_dict(), {"changes": rows})


def _margin_shade(margin_pct: float) -> alt.Chart:
    shade: alt.Chart = alt.Chart().mark_rect(color=charts.SHADE, opacity=0.14)
    return shade.encode(x=alt.datum(-margin_pct), x2=alt.datum(margin_pct))


def _change_row(delta: Delta) -> dict[str, Any]:
    return {
        "tier": delta.contender,
        "workload": delta.workload,
        "change": delta.change_pct,
        "low": delta.change_pct if delta.ci_low_pct is None else delta.ci_low_pct,
        "high": delta.change_pct if delta.ci_high_pct is None else delta.ci_high_pct,
        "told": units.format_change(delta.change_pct),
        "interval": wording.interval(delta) or "none",
        "verdict": delta.verdict,
    }


def _domain(deltas: Sequence[Delta], margin_pct: float) -> tuple[float, float]:
    """All dots and the margin; intervals too, but cut if they are much wider than both."""
    rows = [_change_row(delta) for delta in deltas]
    reach = max(margin_pct, *(abs(row["change"]) for row in rows)) * 2
    low = max(min(row["low"] for row in rows), -reach, -100.0)
    high = min(max(row["high"] for row in rows), reach)
    low, high = min(low, -margin_pct), max(high, margin_pct)
    room = (high - low) * 0.05
    return low - room, high + room

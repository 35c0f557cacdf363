"""A node that was lost in a window and rebuilt: how long that took, and what the load did before,
meanwhile and afterwards. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from orchestrator import metrics, parts
from orchestrator.analysis.figures.transactions import Window

FILE = "rebuild.json"  # with the times, among the raw files
_SCOPES = ("before_loss", "rebuild", "after_rebuild")


def added(
    result: parts.Result,
    times: Mapping[str, float],
    window_s: tuple[float, float],
    pooled: bool,
) -> parts.Result:
    """The figures of a window, and these. times: `lost_s`, when the node was killed, and `back_s`,
    when it did its share again (Unix seconds); and `written_bytes`, which its disks took meanwhile,
    0 if that is not known. `pooled`: as of `transactions`."""
    rebuild_s = times["back_s"] - times["lost_s"]
    figures = [*result.measurements, metrics.measured("rebuild_s", rebuild_s)]
    if times["written_bytes"]:
        figures.append(
            metrics.measured("rebuild_bytes_per_s", times["written_bytes"] / rebuild_s)
        )
    at_a_rate = bool(result.facts.arrival_rate_per_s) and not pooled
    edges_s = (window_s[0], times["lost_s"], times["back_s"], window_s[1])
    spans = [Window(*span_s, pooled, at_a_rate) for span_s in pairwise(edges_s)]
    for table in result.latencies or ():
        for span in spans:
            span.add(table)
    for scope, span, (start_s, end_s) in zip(
        _SCOPES, spans, pairwise(edges_s), strict=True
    ):
        if end_s - start_s < 1:
            continue  # of a moment there are no figures
        for measurement in span.measurements(None):
            if measurement.scope == "all":
                figures.append(replace(measurement, scope=scope))
    return replace(result, measurements=tuple(figures))

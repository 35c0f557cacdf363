"""A node that was lost in a window and rebuilt: how long that took, and what the load did before,
meanwhile and afterwards. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from orchestrator import metrics, parts
from orchestrator.analysis.figures import parts_of_window
from orchestrator.analysis.figures.parts_of_window import Edges

FILE = "rebuild.json"  # file with the times, among the raw files
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
    # 0 means that nobody counted them: then no rate is told.
    if times["written_bytes"]:
        bytes_per_s = times["written_bytes"] / rebuild_s
        figures.append(metrics.measured("rebuild_bytes_per_s", bytes_per_s))
    start_s, end_s = window_s
    edges = Edges(start_s, times["lost_s"], times["back_s"], end_s)
    spans = parts_of_window.between(edges, result, pooled)
    # Table by table, since a long run has more transactions than memory holds.
    for table in result.latencies or ():
        spans.add(table)
    figures += parts_of_window.figures(spans, _SCOPES)
    return replace(result, measurements=tuple(figures))

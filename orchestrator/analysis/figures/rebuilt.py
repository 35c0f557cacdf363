"""A node that was lost in a window and rebuilt: how long that took, and what the load did before,
meanwhile and afterwards. Pure.

times: lost_s, when it was killed, and back_s, when it did its share again (Unix seconds); and, if
known, written_bytes, which its disks took meanwhile.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import pandas as pd

from orchestrator.analysis.figures.transactions import Window
from orchestrator.metrics import measured
from orchestrator.model import Measurement

FILE = "rebuild.json"  # with the times, among the raw files
MEANWHILE = "rebuild"
_SCOPES = ("before_loss", MEANWHILE, "after_rebuild")
_LEAST_S = 1.0  # of a span: a shorter one has no figures


def measurements(
    times: Mapping[str, float],
    tables: Iterable[pd.DataFrame],
    window: tuple[float, float],
    pooled: bool,
    at_a_rate: bool,
) -> Iterator[Measurement]:
    """`tables`, `pooled`, `at_a_rate`: as of `transactions`."""
    edges_s = (window[0], times["lost_s"], times["back_s"], window[1])
    yield measured("rebuild_s", rebuild_s := edges_s[2] - edges_s[1])
    if "written_bytes" in times:
        yield measured("rebuild_bytes_per_s", times["written_bytes"] / rebuild_s)
    spans = [Window(*span_s, pooled, at_a_rate) for span_s in pairwise(edges_s)]
    for table in tables:
        for span in spans:
            span.add(table)
    for scope, span, (start_s, end_s) in zip(_SCOPES, spans, pairwise(edges_s), strict=True):
        if end_s - start_s >= _LEAST_S:
            yield from (
                replace(m, scope=scope) for m in span.measurements(None) if m.scope == "all"
            )

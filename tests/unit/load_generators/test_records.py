"""Records of many files, read in parts: the same tables and figures as read at once.

Goal: bounded memory changes no figure. Method: random records in several files, parts of a few
records; held against the plain definitions over one table of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from orchestrator.analysis.figures import transactions
from orchestrator.errors import LoadError
from orchestrator.load_generators.sysbench import records
from orchestrator.load_generators.sysbench.records import Records
from orchestrator.metrics import PERCENTILES
from orchestrator.system import parquet

TYPES = ["new_order", "payment", "delivery"]
WINDOW = (1_000_002.0, 1_000_007.0)
STATES = [0, int("40001", 36), int("08006", 36)]


def at_once(files: list[Any]) -> pd.DataFrame:
    """The table of all rows: in order of start, those of one moment in the order of the files."""
    rows = np.concatenate(files)
    rows = rows[np.argsort(rows["start_ns"], kind="stable")]
    states = [
        "".join(np.base_repr(code, 36).rjust(5, "0")) if code else "" for code in STATES
    ]
    return pd.DataFrame(
        {
            "start_s": rows["start_ns"] * 1e-9,
            "latency_s": rows["latency_us"] * 1e-6,
            "queue_s": rows["queue_us"] * 1e-6,
            "type": pd.Categorical([TYPES[one] for one in rows["type"]], TYPES),
            "outcome": rows["outcome"],
            "retries": rows["retries"],
            "sqlstate": [states[STATES.index(code)] for code in rows["sqlstate"]],
        }
    )


def drawn(seed: int, count: int, seconds: int) -> Any:
    """Records almost in order of start, as a thread with several connections leaves them."""
    dice = np.random.default_rng(seed)
    rows = np.zeros(count, records.RECORD)
    rows["start_ns"] = 1_000_000 * 10**9 + np.sort(
        dice.integers(0, seconds * 10**9, count)
    )
    # Parts begin with whole seconds, and so do some of the rows.
    rows["start_ns"][::9] //= 10**9
    rows["start_ns"][::9] *= 10**9
    rows["latency_us"] = dice.choice([7, 900, 1500, 250_000, 2_000_000], count)
    rows["queue_us"] = dice.integers(0, 7, count)
    rows["type"], rows["outcome"] = (
        dice.integers(0, 3, count),
        dice.integers(0, 3, count),
    )
    rows["retries"], rows["sqlstate"] = (
        dice.integers(0, 3, count),
        dice.choice(STATES, count),
    )
    return rows[np.argsort(rows["start_ns"] + 1000 * rows["latency_us"].astype(int))]


class SmallParts(Records):
    block, read, part = 16, 64, 100


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    counts=st.lists(st.integers(0, 300), min_size=1, max_size=4),
    seed=st.integers(0, 2**31),
    seconds=st.integers(1, 12),
    pooled=st.booleans(),
)
def test_figures_of_parts_are_those_of_the_whole(
    counts: list[int], seed: int, seconds: int, pooled: bool, tmp_path: Path
) -> None:
    written = [drawn(seed + at, count, seconds) for at, count in enumerate(counts)]
    files = [tmp_path / f"latency-{number}.bin" for number in range(len(written))]
    for file, rows in zip(files, written, strict=True):
        rows.tofile(file)
    whole, parts = at_once(written), SmallParts(files, TYPES)
    pd.testing.assert_frame_equal(
        pd.concat(parts, ignore_index=True).astype({"sqlstate": str}),
        whole.astype({"sqlstate": str}),
    )
    assert parts.failures == (whole["outcome"] == 2).sum()

    parquet.write(tmp_path / "t.parquet", parts)
    kept = pd.read_parquet(tmp_path / "t.parquet").astype(
        {"type": str, "sqlstate": str}
    )
    pd.testing.assert_frame_equal(kept, whole.astype({"type": str, "sqlstate": str}))

    phases = {"warm-up": (WINDOW[0] - 1.5, WINDOW[0]), "measure": WINDOW}
    in_parts, rows_in_parts = read(parts, phases, pooled)
    at_a_time, rows_at_a_time = read([whole], phases, pooled)
    pd.testing.assert_frame_equal(rows_in_parts, rows_at_a_time, check_exact=True)
    assert in_parts == pytest.approx(at_a_time, rel=1e-13)
    check_by_definition(in_parts, whole, pooled)


def read(
    tables: Iterable[pd.DataFrame],
    phases: dict[str, tuple[float, float]],
    pooled: bool,
) -> tuple[dict[tuple[str, str], float], pd.DataFrame]:
    """The figures of the window, and its seconds, table by table."""
    window = transactions.Window(*WINDOW, pooled, at_a_rate=False)
    seconds = transactions.Seconds(phases, pooled)
    for table in tables:
        window.add(table)
        seconds.add(table)
    figures = {(m.metric, m.scope): m.value for m in window.measurements(10)}
    return figures, seconds.intervals()


def check_by_definition(
    figures: dict[tuple[str, str], float], whole: pd.DataFrame, pooled: bool
) -> None:
    """Counts, maxima and percentiles to the bit, over the arrays of all rows."""
    ended_s = whole["start_s"] + whole["latency_s"]
    inside = whole[(ended_s >= WINDOW[0]) & (ended_s < WINDOW[1])]
    for scope in ("all", *TYPES):
        of_scope = inside if scope == "all" else inside[inside["type"] == scope]
        served = of_scope[of_scope["outcome"] != 2]
        assert figures["transactions", scope] == len(served)
        assert figures["retries", scope] == of_scope["retries"].sum()
        ranked = served[served["type"] != "delivery"] if scope == "all" else served
        net_s = served["latency_s"] - (served["queue_s"] if pooled else 0.0)
        if len(served):
            assert figures["latency_avg_s", scope] == pytest.approx(
                net_s.mean(), rel=1e-13
            )
            assert figures["latency_max_s", scope] == net_s.max()
        for metric, percent in PERCENTILES.items():
            if (metric, scope) in figures:
                values = net_s[ranked.index]
                expected = np.percentile(values, percent, method="inverted_cdf")
                assert figures[metric, scope] == expected


def test_clients_are_merged_each_by_its_own_clock(tmp_path: Path) -> None:
    first, second = drawn(1, 200, 5), drawn(2, 150, 5)
    ahead = second.copy()
    ahead["start_ns"] += 250_000_000
    first.tofile(tmp_path / "a.bin")
    ahead.tofile(tmp_path / "b.bin")
    each = [SmallParts([tmp_path / name], TYPES) for name in ("a.bin", "b.bin")]
    both = SmallParts.merged(each, [0.0, 0.25])
    found = pd.concat(both, ignore_index=True).astype({"sqlstate": str})
    expected = at_once([first, second]).astype({"sqlstate": str})
    pd.testing.assert_frame_equal(found, expected)
    with pytest.raises(LoadError, match="other transactions"):
        Records.merged([both, Records([tmp_path / "a.bin"], ["insert"])], [0.0, 0.0])


def test_parts_of_a_stored_table_name_all_types(tmp_path: Path) -> None:
    """Which percentiles are computed depends on them."""
    types = pd.CategoricalDtype(TYPES)
    rows = [pd.DataFrame({"type": pd.Series([name], dtype=types)}) for name in TYPES]
    parquet.write(tmp_path / "t.parquet", rows)
    for part in parquet.parts(tmp_path / "t.parquet"):
        assert list(part["type"].cat.categories) == TYPES
    assert list(parquet.parts(tmp_path / "none.parquet")) == []

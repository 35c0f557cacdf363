"""The table of docs/research/SOURCES.md, row by row: what is read has the right sums, by
arithmetic, and what is refused says what the table says to ask instead."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import UsageError
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.judging.disk_demands import demands
from tests.documented import table_below
from tests.written_histories import (
    FORMS,
    READ_BYTES_PER_S,
    READS_PER_S,
    WRITES_PER_S,
    WRITTEN_BYTES_PER_S,
    Form,
)

TABLE = table_below("research/SOURCES.md", "Files", "tool")
RATES = [READS_PER_S, WRITES_PER_S, READ_BYTES_PER_S, WRITTEN_BYTES_PER_S]


def written(folder: Path, form: Form) -> Path:
    for name, content in form.files.items():
        (folder / name).write_bytes(content)
    return folder


def test_each_row_has_its_form_and_each_form_its_row() -> None:
    rows = [row[:3] for row in TABLE]
    assert sorted(rows) == sorted(FORMS)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join(row[:3]))
def test_what_the_table_says_of_a_form_is_so(
    row: tuple[str, ...], tmp_path: Path
) -> None:
    tool, version, options, fate, instead = row
    form = FORMS[tool, version, options]()
    remarks: list[str] = []
    if fate == "refused":
        with pytest.raises(UsageError) as refused:
            demands(files.read(written(tmp_path, form)))
        words = f"{refused.value.what} {refused.value.advice}"
        asked = re.findall(r"`([^`]+)`", instead)
        assert asked, "the table says what to ask instead"
        for word in asked:
            assert word in words, words
        return
    read = files.read(written(tmp_path, form), remarks.append)
    demand, *others = demands(read)
    # Another disk of the same file has the same rates, in longer intervals.
    for other in others:
        assert other.amounts.sum(axis=1) == pytest.approx(demand.amounts.sum(axis=1))
        assert other.step_s.sum() == demand.step_s.sum()
    assert len(others) == options.startswith("two volumes")
    assert (demand.node, demand.device) == form.disk
    expected = np.array(RATES) * form.seconds
    amounts = demand.amounts.sum(axis=1)
    if tool == "`sadf -j`":
        assert np.isnan(demand.amounts[0]).all()
        assert demand.ios.sum() == pytest.approx(expected[:2].sum(), rel=1e-6)
        assert amounts[2:] == pytest.approx(expected[2:], rel=1e-6)
    else:
        assert amounts == pytest.approx(expected, rel=1e-6)
    assert demand.coverage == pytest.approx(1.0)
    assert bool(remarks) == (fate == "read, with a remark"), remarks

"""Tables in parts: what comes back is what was written, and memory holds one part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from orchestrator.errors import CutError
from orchestrator.system import parquet

ROWS, PARTS = 2**18, 16


def part(number: int) -> pd.DataFrame:
    dice = np.random.default_rng(number)
    names = pd.Series([f"node-{number % 3}"] * ROWS, dtype=str)
    return pd.DataFrame({"value": dice.random(ROWS), "node": names})


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    parquet.write(file, map(part, range(PARTS)))
    before, held, rows = pa.total_allocated_bytes(), [], 0
    for table in parquet.parts(file, ["node"]):
        held.append(pa.total_allocated_bytes() - before)
        rows += len(table)
    assert rows == ROWS * PARTS
    whole = file.stat().st_size
    assert whole > 8 * ROWS * PARTS  # random numbers cannot be packed
    assert max(held) < whole


def test_texts_come_as_categories_where_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    parquet.write(file, [part(1), part(2)])
    plain = list(parquet.parts(file))
    small = list(parquet.parts(file, ["node", "never there"]))
    assert {str(one["node"].dtype) for one in plain} == {"str"}
    assert {str(one["node"].dtype) for one in small} == {"category"}
    for column in ("node", "value"):
        read = [
            pd.concat([one[column].astype(plain[0][column].dtype) for one in several])
            for several in (plain, small)
        ]
        assert read[0].tolist() == read[1].tolist()


def test_no_file_has_no_parts(tmp_path: Path) -> None:
    assert not list(parquet.parts(tmp_path / "none.parquet"))


def test_a_damaged_part_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    parquet.write(
        file, [pd.DataFrame({"value": np.random.default_rng(1).random(50_000)})]
    )
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(CutError, match=r"table\.parquet is damaged"):
        list(parquet.parts(file))

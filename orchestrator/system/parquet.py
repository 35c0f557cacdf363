"""Tables in parquet files, written and read in parts, so that none needs to be in memory whole."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.errors import CutError
from orchestrator.keys import plain_files
from orchestrator.system import files

_ROWS = 2**20


def write(file: Path, parts: Iterable[pd.DataFrame], lasting: bool = True) -> None:
    """Writes one table atomically, each part as a row group; without any there is no file. Not
    `lasting`: a power cut may undo it. NotWrittenError."""
    remaining = iter(parts)
    first = next(remaining, None)
    if first is None:
        return
    table = pa.Table.from_pandas(first, preserve_index=False)
    with (
        files.replacing(file, private=True, lasting=lasting) as opened,
        pq.ParquetWriter(opened, table.schema, write_page_checksum=True) as writer,
    ):
        writer.write_table(table)
        for part in remaining:
            # A part without a value in a column would else have another type there.
            table = pa.Table.from_pandas(part, table.schema, preserve_index=False)
            writer.write_table(table)


def _opened(file: Path) -> pa.OSFile:
    """The file, opened by the bytes of its name, which may not be UTF-8."""
    return pa.OSFile(os.fsencode(file), mode="rb")


def rows(file: Path) -> int:
    """How many rows the table of a file has, by its end alone. ValueError if it was cut."""
    with _opened(file) as opened:
        return int(pq.read_metadata(opened).num_rows)


def parts(file: Path, categories: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
    """The table of a file in parts, one after the other; none if there is no file. CutError for
    one with a damaged part. `categories`: columns of texts that come so, a tenth as large."""
    if not plain_files.is_file(file):
        return
    with _opened(file) as opened:
        columns = pq.read_schema(opened).names
    as_categories = [name for name in categories if name in columns]
    # Reading ahead, which is usual, keeps the bytes of the whole file until the last part.
    with (
        _opened(file) as opened,
        pq.ParquetFile(
            opened,
            read_dictionary=as_categories,
            pre_buffer=False,
            page_checksum_verification=True,
        ) as table,
    ):
        try:
            for batch in table.iter_batches(batch_size=_ROWS):
                yield batch.to_pandas()
        except (OSError, ValueError) as error:
            raise CutError(
                f"{file} is damaged ({error})",
                advice=(
                    "bring it back from a copy, or remove it: the rest is then judged "
                    "without it. `tierbench verify` names every such file"
                ),
            ) from error

"""SQL for a PostgreSQL server: replication, facts, and what its cache should hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.databases.common import with_quotients
from orchestrator.databases.postgresql.settings import DURABILITY, durable
from orchestrator.facts import DatabaseFacts
from orchestrator.system.sql import Row, Session, query


def _asked(name: str, session: Session, **words: str) -> list[Row]:
    return session.rows(query(__package__, name, **words))


NOW = "pg_current_wal_flush_lsn()"


def caught_up(session: Session, upto: str = NOW) -> tuple[int, str]:
    """How many standbys have what they must have, `upto` there in the log; and where its end
    is."""
    # The end may move at once: the server writes by itself, too.
    row = _asked("caught_up", session, upto=upto)[0]
    return int(row["replicas_caught_up"]), f"'{row['flushed']}'"


def facts(
    session: Session, memory_bytes: int | None, image: str | None = None
) -> DatabaseFacts:
    """The server's own facts; `since_reset` counts since `begin_measuring`."""
    now = dict(_asked("now", session)[0])
    counters = _asked("counters", session)[0]
    durability = _settings(session, f"name IN {DURABILITY}")
    is_durable = all(durable(name, value) for name, value in durability.items())
    # Settings of tierbench or the profile, all of which go on the command line.
    settings = _settings(
        session, "source = 'command line' OR name ~ '^pg_stat_statements'"
    )
    return DatabaseFacts(
        version=now.pop("version"),
        image=image,
        durable=is_durable,
        durability=durability,
        settings=settings,
        data_bytes=now.pop("data_bytes"),
        cache_bytes=memory_bytes,
        since_reset=with_quotients(counters),
        more=now,
    )


def _settings(session: Session, condition: str) -> dict[str, str]:
    rows = _asked("settings", session, condition=condition)
    return {row["name"]: row["value"] for row in rows}


BLOCK_BYTES = 8192
_PIECE_BLOCKS = 64 * 2**20 // BLOCK_BYTES
_READ_BLOCKS = 16  # io_combine_limit: what PostgreSQL reads at once
# Shared buffers also hold the catalog. The rest of the memory also holds sessions, and second
# copies of what went through the page cache into shared buffers.
_SHARED_SHARE = 0.95
_FILE_SHARE = 0.9


@dataclass(frozen=True)
class Extent:
    """Blocks of a relation."""

    oid: int
    first: int
    last: int

    def sql(self) -> str:
        """The statement that reads these blocks into shared buffers."""
        # No further than the file: a standby's may end a few empty blocks earlier.
        end = f"pg_relation_size({self.oid}) / {BLOCK_BYTES}"
        # Backwards, because what is read ahead in sequence is cached by Linux (6.18, XFS) in folios
        # of many blocks. Each use of a block keeps all of its folio, so they outlast what is used
        # more, such as indexes. That made 780 transactions/s in the place of 980, for as long as
        # seen.
        lowest = self.first - _READ_BLOCKS + 1
        parts = f"generate_series({self.last - _READ_BLOCKS + 1}, {lowest}, -{_READ_BLOCKS})"
        first = f"greatest(at, {self.first})"
        span = f"{first}, least(at + {_READ_BLOCKS - 1}, {end} - 1)"
        warm = f"pg_prewarm({self.oid}, 'buffer', 'main', {span})"
        return f"SELECT sum({warm}) FROM {parts} AS at WHERE {first} < {end}"


def cache_plan(session: Session, memory_bytes: int) -> tuple[Extent, ...]:
    """The extents that a cache of `memory_bytes` should hold, in reading order: what was read last
    is in shared buffers."""
    shared_bytes = int(_asked("now", session)[0]["shared_buffers_bytes"])
    filed_bytes = memory_bytes - shared_bytes
    return fill(
        _asked("relations", session),
        shared_blocks=int(_SHARED_SHARE * shared_bytes) // BLOCK_BYTES,
        file_blocks=int(_FILE_SHARE * filed_bytes) // BLOCK_BYTES,
    )


def fill(
    relations: Sequence[Row], shared_blocks: int, file_blocks: int
) -> tuple[Extent, ...]:
    """Indexes before tables, as in a cache long in use, shared buffers before the page cache, each
    of `relations` (oid, is_index, blocks) in proportion: of a table any part is as good if keys are
    drawn uniformly."""
    in_shared: list[Extent] = []
    in_files: list[Extent] = []
    for is_index in (True, False):
        group = [relation for relation in relations if relation["is_index"] is is_index]
        total = sum(relation["blocks"] for relation in group)
        shared = min(total, shared_blocks)
        paged = min(total - shared, file_blocks)
        shared_blocks -= shared
        file_blocks -= paged
        for relation in group:
            split = relation["blocks"] * shared // total
            end = _end_in_files(relation["blocks"], split, paged, total)
            in_shared += _pieces(relation["oid"], 0, split)
            in_files += _pieces(relation["oid"], split, end)
    # Indexes are read last of each, so that they are the last to leave.
    return (*reversed(in_files), *reversed(in_shared))


def _end_in_files(blocks: int, split: int, paged: int, total: int) -> int:
    """Where the part of a relation ends that the page cache holds, behind the `split` in shared
    buffers. Its share of `paged` is that of its `blocks` in the `total`, rounded up."""
    return min(blocks, split + -(-blocks * paged // total))


def _pieces(oid: int, start: int, end: int) -> Iterator[Extent]:
    for first in range(start, end, _PIECE_BLOCKS):
        yield Extent(oid, first, min(first + _PIECE_BLOCKS, end) - 1)

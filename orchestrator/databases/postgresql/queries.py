"""SQL for a PostgreSQL server: replication, facts, and what its cache should hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.databases.postgresql.settings import DURABILITY, durable
from orchestrator.facts import (
    READ_S,
    WAL_NODES,
    WAL_SYNC_AVG_S,
    WAL_SYNC_S,
    WAL_SYNCS,
    DatabaseFacts,
)
from orchestrator.system.sql import Session

_CAUGHT_UP = """
SELECT count(*) AS replicas_caught_up FROM pg_stat_replication
WHERE state = 'streaming' AND replay_lsn >= pg_current_wal_flush_lsn() AND sync_state =
      CASE WHEN current_setting('synchronous_standby_names') ~ ('\\y' || application_name || '\\y')
           THEN 'quorum' ELSE 'async' END
"""


def replicas_caught_up(session: Session) -> int:
    """Standbys that stream, are in the quorum if they belong there, and have replayed all that the
    primary has flushed. It may change at once: the server writes by itself, too."""
    return int(session.rows(_CAUGHT_UP)[0]["replicas_caught_up"])


_NOW = """
SELECT current_setting('server_version') AS version,
       pg_database_size(current_database()) AS data_bytes,
       (SELECT sum(size)::bigint FROM pg_ls_waldir()) AS wal_kept_bytes,
       pg_size_bytes(current_setting('shared_buffers')) AS shared_buffers_bytes,
       standbys.*
FROM (SELECT count(*) FILTER (WHERE state = 'streaming') AS replicas,
             count(*) FILTER (WHERE state = 'streaming' AND sync_state = 'quorum')
               AS replicas_in_sync,
             coalesce(max(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), replay_lsn)), 0)::bigint
               AS replay_lag_bytes
      FROM pg_stat_replication) AS standbys
"""
_SETTINGS = "SELECT name, current_setting(name) AS value FROM pg_settings WHERE {} ORDER BY name"
# Counters since `begin_measuring`. "Read" means not in shared buffers: the page cache may still
# have had it. What reached the disk is in the telemetry.
_COUNTERS = f"""
SELECT d.stats_reset::text AS reset_at, d.xact_commit, d.xact_rollback, d.deadlocks,
       d.blks_hit, d.blks_read, d.blk_read_time / 1000 AS {READ_S}, d.temp_bytes,
       coalesce(d.checksum_failures, 0) AS checksum_failures,
       c.num_timed AS checkpoints_timed, c.num_requested AS checkpoints_requested,
       c.buffers_written AS checkpoint_buffers_written,
       w.wal_bytes::bigint, w.wal_records, w.wal_fpi, w.wal_sync AS {WAL_SYNCS},
       w.wal_sync_time / 1000 AS {WAL_SYNC_S},
       (SELECT coalesce(sum(autovacuum_count), 0)::bigint FROM pg_stat_user_tables) AS autovacuums
FROM pg_stat_database d, pg_stat_checkpointer c, pg_stat_wal w
WHERE d.datname = current_database()
"""


def facts(session: Session, memory_bytes: int | None, image: str | None = None) -> DatabaseFacts:
    """The server's own facts; `since_reset` counts since `begin_measuring`."""
    now = dict(session.rows(_NOW)[0])
    counters = session.rows(_COUNTERS)[0]
    durability = _named(session, f"name IN {DURABILITY}")
    blocks = counters["blks_hit"] + counters["blks_read"]
    syncs = counters[WAL_SYNCS]
    return DatabaseFacts(
        version=now.pop("version"),
        image=image,
        durable=all(durable(name, value) for name, value in durability.items()),
        durability=durability,
        settings=_named(session, "source = 'command line'"),
        data_bytes=now.pop("data_bytes"),
        cache_bytes=memory_bytes,
        since_reset={
            **counters,
            "buffer_hit_ratio": counters["blks_hit"] / blocks if blocks else None,
            WAL_SYNC_AVG_S: counters[WAL_SYNC_S] / syncs if syncs else None,
            WAL_NODES: 1,  # the primary's log; standbys count their own
        },
        more=now,
    )


def _named(session: Session, condition: str) -> dict[str, str]:
    return {row["name"]: row["value"] for row in session.rows(_SETTINGS.format(condition))}


_RELATIONS = """
SELECT c.oid::bigint AS oid, c.relkind = 'i' AS is_index,
       pg_relation_size(c.oid) / current_setting('block_size')::int AS blocks
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'i', 'm') AND n.nspname !~ '^(pg_|information_schema)'
  AND pg_relation_size(c.oid) > 0
ORDER BY c.oid
"""
BLOCK_BYTES = 8192
_PIECE_BLOCKS = 64 * 2**20 // BLOCK_BYTES
# Shared buffers also hold the catalog; the rest of the memory also holds sessions and the
# second copies of what went through the page cache into shared buffers.
_SHARED_SHARE, _FILE_SHARE = 0.95, 0.9


@dataclass(frozen=True)
class Relation:
    oid: int
    is_index: bool
    blocks: int


@dataclass(frozen=True)
class Extent:
    """Blocks of a relation. "buffer" ends in shared buffers, "read" in the page cache."""

    oid: int
    mode: Literal["buffer", "read"]
    first: int
    last: int

    def sql(self) -> str:
        """Reads no further than the file: a standby's may end a few empty blocks earlier."""
        end = f"pg_relation_size({self.oid}) / {BLOCK_BYTES}"
        return (
            f"SELECT pg_prewarm({self.oid}, '{self.mode}', 'main', {self.first}, "
            f"least({self.last}, {end} - 1)) WHERE {self.first} < {end}"
        )


def cache_plan(session: Session, memory_bytes: int) -> tuple[Extent, ...]:
    """The extents that a cache of `memory_bytes` should hold, in reading order."""
    relations = [Relation(**row) for row in session.rows(_RELATIONS)]
    shared_bytes = int(session.rows(_NOW)[0]["shared_buffers_bytes"])
    return fill(
        relations,
        shared_blocks=int(_SHARED_SHARE * shared_bytes) // BLOCK_BYTES,
        file_blocks=int(_FILE_SHARE * (memory_bytes - shared_bytes)) // BLOCK_BYTES,
    )


def fill(relations: Sequence[Relation], shared_blocks: int, file_blocks: int) -> tuple[Extent, ...]:
    """Indexes before tables, as in a cache long in use, shared buffers before the page cache, each
    relation in proportion: of a table any part is as good if keys are drawn uniformly."""
    extents: list[Extent] = []
    for is_index in (True, False):
        group = [relation for relation in relations if relation.is_index is is_index]
        total = sum(relation.blocks for relation in group)
        shared = min(total, shared_blocks)
        paged = min(total - shared, file_blocks)
        shared_blocks, file_blocks = shared_blocks - shared, file_blocks - paged
        for relation in group:
            split = relation.blocks * shared // total
            end = min(relation.blocks, split + -(-relation.blocks * paged // total))
            extents += _pieces(relation.oid, "buffer", 0, split)
            extents += _pieces(relation.oid, "read", split, end)
    return tuple(extents)


def _pieces(oid: int, mode: Literal["buffer", "read"], start: int, end: int) -> Iterator[Extent]:
    for first in range(start, end, _PIECE_BLOCKS):
        yield Extent(oid, mode, first, min(first + _PIECE_BLOCKS, end) - 1)

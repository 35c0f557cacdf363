-- Of the session's database, its server, and all databases but the one in which
-- campaigns say that they are here. Nothing is reset there, so counters are read twice
-- and subtracted.

SELECT d.blks_hit, d.blks_read, d.temp_bytes, {checkpoints},
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS wal_bytes, shared.*{waits}
FROM {views} c, pg_stat_database d,
(SELECT sum(transactions) AS transactions, sum(transactions * theirs) AS others_transactions,
        sum(blocks) AS blocks, sum(blocks * theirs) AS others_blocks,
        sum(seconds) AS statement_seconds, sum(seconds * theirs) AS others_statement_seconds
 FROM (SELECT (datname <> current_database())::int AS theirs,
              (xact_commit + xact_rollback)::float8 AS transactions,
              (blks_hit + blks_read)::float8 AS blocks, ({seconds})::float8 AS seconds
       FROM pg_stat_database s WHERE datname <> '{lease}') AS each) AS shared
WHERE d.datname = current_database()

-- Counts of each statement of the load's database so far, 0 where a release has no such
-- column: names of times changed with PostgreSQL 13 and 17; requests to the storage are
-- YugabyteDB's, whose blocks and log are not counted there. The text ends before the
-- first constant: servers put `$1` for one, but not in every statement (`CALL`, `SET`).
-- Others' statements are hidden from users without the right to see them.
-- docs.yugabyte.com, "Get query statistics using pg_stat_statements"

SELECT concat_ws(' ', s ->> 'userid', s ->> 'queryid', s ->> 'toplevel') AS statement,
       left(regexp_replace(s ->> 'query', '(''|(?<![\w$])\d|\$(?!\d)).*', '…'), 500) AS query,
       (s ->> 'calls')::float8 AS calls,
       coalesce(s ->> 'total_exec_time', s ->> 'total_time', '0')::float8 AS ms,
       coalesce(s ->> 'shared_blks_read', '0')::float8 AS blocks_read,
       coalesce(s ->> 'shared_blk_read_time', s ->> 'blk_read_time', '0')::float8 AS read_ms,
       coalesce(s ->> 'wal_bytes', '0')::float8 AS wal_bytes,
       coalesce(s ->> 'docdb_read_rpcs', '0')::float8
         + coalesce(s ->> 'docdb_write_rpcs', '0')::float8 AS storage_requests
FROM (SELECT to_jsonb(p) AS s FROM pg_stat_statements p
      WHERE queryid IS NOT NULL
        AND dbid = (SELECT oid FROM pg_database WHERE datname = '{database}')) AS every

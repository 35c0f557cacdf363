-- Counters since `begin_measuring`. "Read" means not in shared buffers: the page cache may still
-- have had it. What reached the disk is in the telemetry.

SELECT d.stats_reset::text AS reset_at, d.xact_commit, d.xact_rollback, d.deadlocks,
       d.blks_hit, d.blks_read, d.blk_read_time / 1000 AS blks_read_s, d.temp_bytes,
       coalesce(d.checksum_failures, 0) AS checksum_failures,
       c.num_timed AS checkpoints_timed, c.num_requested AS checkpoints_requested,
       c.buffers_written AS checkpoint_buffers_written,
       w.wal_bytes::bigint, w.wal_records, w.wal_fpi, w.wal_sync AS wal_syncs,
       w.wal_sync_time / 1000 AS wal_sync_s,
       (SELECT coalesce(sum(autovacuum_count), 0)::bigint FROM pg_stat_user_tables) AS autovacuums
FROM pg_stat_database d, pg_stat_checkpointer c, pg_stat_wal w
WHERE d.datname = current_database()

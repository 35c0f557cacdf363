-- Waits are known only if both times are counted: one alone would hide what sessions wait for.

, w.wal_sync AS wal_syncs,
       CASE WHEN {timed} THEN d.blk_read_time / 1000 END AS blks_read_s,
       CASE WHEN {timed} THEN w.wal_sync_time / 1000 END AS wal_sync_s

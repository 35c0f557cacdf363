-- Version, sizes, and how far the standbys are.

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

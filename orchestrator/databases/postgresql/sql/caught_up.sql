-- Standbys that stream, are in the quorum if they belong there, and have replayed the log up to a
-- place in it, such as the one up to which the primary has flushed.

SELECT count(*) AS replicas_caught_up, pg_current_wal_flush_lsn()::text AS flushed
FROM pg_stat_replication
WHERE state = 'streaming' AND replay_lsn >= {upto} AND sync_state =
      CASE WHEN current_setting('synchronous_standby_names') ~ ('\y' || application_name || '\y')
           THEN 'quorum' ELSE 'async' END

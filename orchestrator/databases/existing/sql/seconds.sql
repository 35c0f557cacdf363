-- A statement is counted when it has ended; one that goes on shows how long it has.

active_time / 1000 + coalesce((
    SELECT sum(extract(epoch FROM clock_timestamp() - query_start)) FROM pg_stat_activity
    WHERE datid = s.datid AND pid <> pg_backend_pid() AND state = 'active'
    AND backend_type = 'client backend'), 0)

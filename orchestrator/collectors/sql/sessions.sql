-- Sessions of the load: those of this program say who they are. A session that is idle,
-- in a transaction or not, or that sends, waits for its client or for the way to it.
-- One that waits for another's log sync or read waits for the disk as well.

SELECT kind, count(*) AS number
FROM (SELECT CASE WHEN state LIKE 'idle%' OR type = 'Client' THEN 'idle'
                  WHEN type IS NULL THEN 'running'
                  WHEN type = 'Lock' THEN 'locked'
                  WHEN event ~ '^wal(sync|write)' OR event = 'syncrep' THEN 'syncing'
                  WHEN type = 'IO' AND event ~ '^wal' THEN 'syncing'
                  WHEN type = 'IO' OR event = 'bufferio' THEN 'reading'
                  ELSE 'otherwise' END AS kind
      FROM (SELECT state, wait_event_type AS type, lower(wait_event) AS event
            FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend'
              AND application_name <> 'tierbench' AND pid <> pg_backend_pid()) AS sessions) AS kinds
GROUP BY kind

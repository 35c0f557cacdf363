-- Whether the release keeps a history of active sessions: a question to a view that is not there is
-- an error.

SELECT to_regclass('pg_catalog.yb_active_session_history') IS NOT NULL
   AND to_regclass('pg_catalog.yb_wait_event_desc') IS NOT NULL AS has

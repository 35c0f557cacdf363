-- What sessions were at work on each second, from the samples that the node's program writes: at
-- work, or waiting for a tablet server, where a request of theirs waits for a lock or for the disk.
SET allow_system_table_mods = on;

CREATE OR REPLACE FUNCTION pg_catalog.standin_history() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT pg_read_file('/run/standin/history.json')::json $$;

CREATE OR REPLACE VIEW pg_catalog.yb_active_session_history
  (sample_time, root_request_id, rpc_request_id, wait_event_component, wait_event_class, wait_event,
   wait_event_type, wait_event_aux, top_level_node_id, query_id, pid, client_node_ip, sample_weight,
   ysql_dbid) AS
SELECT s.sample_time, NULL::uuid, NULL::bigint, e.component, e.class, e.event, e.type, NULL::text,
       NULL::uuid, NULL::bigint, s.pid, NULL::text, 1::real, s.ysql_dbid
FROM json_to_recordset(standin_history())
       AS s(sample_time timestamptz, ysql_dbid oid, pid bigint, waits_for text)
CROSS JOIN (VALUES
  ('running', 'YSQL', 'YSQLQuery', 'QueryProcessing', 'Cpu'),
  ('waiting', 'YSQL', 'TServerWait', 'TableWrite', 'RPCWait'),
  ('Lock', 'TServer', 'TabletWait', 'ConflictResolution_WaitOnConflictingTxns', 'WaitOnCondition'),
  ('IO', 'TServer', 'Consensus', 'WAL_Sync', 'DiskIO')
) AS e(state, component, class, event, type)
WHERE e.state = s.waits_for
   OR e.state = CASE WHEN s.waits_for IS NULL THEN 'running' ELSE 'waiting' END;

GRANT SELECT ON pg_catalog.yb_active_session_history TO PUBLIC;

-- Of the wait events of a real cluster those that the history of this one has, and one more lock.
SET allow_system_table_mods = on;

CREATE OR REPLACE VIEW pg_catalog.yb_wait_event_desc
  (wait_event_class, wait_event_type, wait_event, wait_event_description) AS
VALUES
  ('YSQLQuery', 'Cpu', 'QueryProcessing', ''),
  ('TServerWait', 'RPCWait', 'TableWrite', ''),
  ('TabletWait', 'WaitOnCondition', 'ConflictResolution_WaitOnConflictingTxns', ''),
  ('TabletWait', 'WaitOnCondition', 'LockedBatchEntry_Lock', ''),
  ('Consensus', 'DiskIO', 'WAL_Sync', '');

GRANT SELECT ON pg_catalog.yb_wait_event_desc TO PUBLIC;

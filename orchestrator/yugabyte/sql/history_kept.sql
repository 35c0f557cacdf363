-- The age of the oldest sample that the node still has, of any database: its buffer is a ring, where
-- new samples overwrite the oldest. NULL if it has none.

SELECT extract(epoch FROM current_timestamp - min(sample_time))::float8 AS kept_s
FROM yb_active_session_history

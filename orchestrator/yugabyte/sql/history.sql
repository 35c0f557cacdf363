-- What the sessions of a database, and the requests that they sent to this node, were seen at in the
-- last seconds. A sample stands for `sample_weight` of its kind.
-- docs.yugabyte.com, "Monitor with Active Session History"

SELECT wait_event_component AS component, wait_event_type AS type, wait_event AS event,
       sum(sample_weight)::float8 AS samples
FROM yb_active_session_history
WHERE sample_time >= current_timestamp - interval '{seconds} seconds'
  AND ysql_dbid = (SELECT oid FROM pg_database WHERE datname = '{database}')
GROUP BY wait_event_component, wait_event_type, wait_event

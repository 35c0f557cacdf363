-- Sets the passwords of this start, from the environment. They must not reach the server's log or
-- the statements that it counts, which the load's user may read, whatever the cluster's settings
-- are; and no standby is up yet to confirm the change.
SET log_statement = 'none';
SET log_min_duration_statement = -1;
SET log_min_error_statement = 'panic';
SET pg_stat_statements.track_utility = off;
SET synchronous_commit = local;
\getenv bench BENCH_PASSWORD
\getenv standby STANDBY_PASSWORD
ALTER ROLE bench PASSWORD :'bench';
ALTER ROLE standby PASSWORD :'standby';

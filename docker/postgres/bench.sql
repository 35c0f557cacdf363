CREATE ROLE standby LOGIN REPLICATION PASSWORD 'standby';
CREATE ROLE bench LOGIN PASSWORD 'bench' IN ROLE pg_monitor, pg_checkpoint;
CREATE DATABASE bench OWNER bench;
\connect bench
CREATE EXTENSION pg_prewarm;
GRANT EXECUTE ON FUNCTION pg_stat_reset(), pg_stat_reset_shared(text) TO bench;

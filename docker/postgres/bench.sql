-- Without a password nobody can log in as one of them; passwords.sql sets it at each start.
CREATE ROLE standby LOGIN REPLICATION;
CREATE ROLE bench LOGIN IN ROLE pg_monitor, pg_checkpoint;
CREATE DATABASE bench OWNER bench;
\connect bench
CREATE EXTENSION pg_prewarm;
CREATE EXTENSION pg_stat_statements;
GRANT EXECUTE ON FUNCTION pg_stat_reset(), pg_stat_reset_shared(text) TO bench;

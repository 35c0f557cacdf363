-- Whether a server counts statements, and in this database shows them: a question to a view that is
-- not there fails, and is in the server's log. Without the library there is no such setting.

SELECT current_setting('pg_stat_statements.max', true) IS NOT NULL
   AND to_regclass('pg_stat_statements') IS NOT NULL AS counts

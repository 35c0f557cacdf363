-- The tables of the database, the largest first by its statistics.

SELECT format('%I.%I', n.nspname, c.relname) AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)'
ORDER BY c.reltuples DESC, name

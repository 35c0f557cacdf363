-- The views that YugabyteDB adds, column by column: releases differ in them.

SELECT c.relname AS view, a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS data_type
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind = 'v' AND c.relname LIKE 'yb\_%' AND a.attnum > 0
  AND c.relnamespace = 'pg_catalog'::regnamespace
ORDER BY c.relname, a.attnum

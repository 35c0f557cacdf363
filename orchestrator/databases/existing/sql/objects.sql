-- A row if anything is in a database. One that was only being made has nothing in it; a
-- name that was taken since then may have.

SELECT 1 FROM pg_namespace
WHERE nspname NOT IN ('public', 'information_schema') AND left(nspname, 3) <> 'pg_'
UNION ALL SELECT 1 FROM pg_class
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'public')
UNION ALL SELECT 1 FROM pg_proc
WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'public')
UNION ALL SELECT 1 FROM pg_type
WHERE typnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'public')
LIMIT 1

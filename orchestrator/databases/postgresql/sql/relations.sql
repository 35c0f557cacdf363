-- Tables and indexes with their blocks.

SELECT c.oid::bigint AS oid, c.relkind = 'i' AS is_index,
       pg_relation_size(c.oid) / current_setting('block_size')::int AS blocks
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'i', 'm') AND n.nspname !~ '^(pg_|information_schema)'
  AND pg_relation_size(c.oid) > 0
ORDER BY c.oid

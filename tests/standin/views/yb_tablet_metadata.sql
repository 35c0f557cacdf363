-- The tablets of this database's tables and indexes, as universe.py spreads them over the members:
-- each with the member that leads it. What the masters say of them has other names.
SET allow_system_table_mods = on;

CREATE OR REPLACE VIEW pg_catalog.yb_tablet_metadata
  (tablet_id, oid, db_name, relname, start_hash_code, end_hash_code, leader, replicas) AS
WITH members AS (
  SELECT host, row_number() OVER (ORDER BY host) - 1 AS number FROM yb_servers()
), relations AS (
  SELECT c.oid, c.relname, row_number() OVER (ORDER BY c.oid) - 1 AS number,
         (yb_table_properties(c.oid)).num_tablets AS tablets
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'i') AND n.nspname = 'public'
    AND NOT EXISTS (SELECT FROM pg_index k WHERE k.indexrelid = c.oid AND k.indisprimary)
)
SELECT md5(r.oid || '-' || t), r.oid, current_database()::text, r.relname::text,
       (t * 65536 / r.tablets)::int, ((t + 1) * 65536 / r.tablets)::int, m.host || ':5433',
       (SELECT array_agg(host || ':5433') FROM members)
FROM relations r CROSS JOIN generate_series(0, r.tablets - 1) AS t
JOIN members m ON m.number = (r.number + t) % (SELECT count(*) FROM members);

GRANT SELECT ON pg_catalog.yb_tablet_metadata TO PUBLIC;

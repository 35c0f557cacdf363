-- The tablets of the session's database, with their tables and leaders. Names are hidden there from
-- users without the right to see all of them, so those of the database's own catalog come first.
-- A tablet may be listed once for each schema that has a table of that name.
-- docs.yugabyte.com, "Tablet metadata"

SELECT DISTINCT m.tablet_id, coalesce(c.relname, m.relname) AS name, m.leader
FROM yb_tablet_metadata m LEFT JOIN pg_class c ON c.oid = m.oid
WHERE m.db_name = current_database()

-- What YSQL offers beyond PostgreSQL, as far as it is asked for. Facts of the universe come from
-- files that the node's program writes.
ALTER FUNCTION pg_catalog.version() RENAME TO standin_postgresql_version;

CREATE FUNCTION pg_catalog.version() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT trim(pg_read_file('/run/standin/banner')) $$;

CREATE FUNCTION pg_catalog.yb_servers(
  OUT host text, OUT port bigint, OUT num_connections bigint, OUT node_type text, OUT cloud text,
  OUT region text, OUT zone text, OUT public_ip text, OUT uuid text)
RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT s.host, 5433::bigint, 0::bigint, 'primary', split_part(s.zone, '.', 1),
         split_part(s.zone, '.', 2), split_part(s.zone, '.', 3), '', s.uuid
  FROM json_to_recordset(pg_read_file('/run/standin/servers.json')::json)
       AS s(host text, zone text, uuid text) $$;

CREATE FUNCTION pg_catalog.yb_get_effective_transaction_isolation_level()
RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT trim(pg_read_file('/run/standin/isolation')) $$;

-- Tables and indexes of this database that were made with a word about tablets: the words are gone
-- by then, but for the comment that front.py leaves in the statement.
CREATE TABLE pg_catalog.standin_tablets (relation oid PRIMARY KEY, tablets int NOT NULL);

CREATE FUNCTION standin_note_tablets() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO pg_catalog.standin_tablets
  SELECT made.objid, said.tablets[1]::int
  FROM pg_event_trigger_ddl_commands() made JOIN pg_class c ON c.oid = made.objid,
       regexp_match(current_query(), c.relname || '\M[^;]*/\* tablets (\d+) \*/', 'i') said (tablets)
  WHERE made.classid = 'pg_class'::regclass AND said.tablets IS NOT NULL
  ON CONFLICT (relation) DO NOTHING;
END $$;
CREATE EVENT TRIGGER standin_tablets ON ddl_command_end
  WHEN TAG IN ('CREATE TABLE', 'CREATE INDEX')
  EXECUTE FUNCTION standin_note_tablets();
ALTER FUNCTION standin_note_tablets() SET SCHEMA pg_catalog;

CREATE FUNCTION pg_catalog.yb_table_properties(
  oid, OUT num_tablets bigint, OUT num_hash_key_columns bigint, OUT is_colocated boolean)
LANGUAGE sql STABLE SECURITY DEFINER AS $$
  SELECT coalesce((SELECT tablets FROM pg_catalog.standin_tablets WHERE relation = $1),
                  trim(pg_read_file('/run/standin/tablets'))::bigint), 1::bigint, false $$;

-- Of a key of one or two integers, as the tables of the workloads have; the real one takes any.
-- Which hash a key gets is not the real one's; that it is 0 to 65535, always the same, is. Bounds
-- of it in 2.18: front.py.
CREATE FUNCTION pg_catalog.yb_hash_code(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT hashint4($1) & 65535 $$;
CREATE FUNCTION pg_catalog.yb_hash_code(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT (hashint4($1) # hashint4($2 + 1)) & 65535 $$;

-- The comment on a database.

SELECT shobj_description(oid, 'pg_database') AS mark FROM pg_database
WHERE datname = '{database}'

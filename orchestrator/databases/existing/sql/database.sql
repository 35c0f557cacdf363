-- Which database has a name now: its number, which no other one gets, the comment on it, and how
-- many connections it takes.

SELECT oid::bigint AS oid, shobj_description(oid, 'pg_database') AS mark,
       datconnlimit AS connection_limit
FROM pg_database WHERE datname = '{database}'

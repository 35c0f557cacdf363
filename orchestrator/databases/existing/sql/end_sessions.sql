-- Ends the sessions of clients in a database, which its number names.

SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datid = {oid} AND backend_type = 'client backend' AND pid <> pg_backend_pid()

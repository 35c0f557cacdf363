-- The database's size, and the server's buffers.

SELECT pg_database_size(current_database()) AS bytes,
       pg_size_bytes(current_setting('shared_buffers')) AS buffers

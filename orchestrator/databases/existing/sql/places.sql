-- Where the data directory is, and the tables of new databases.

SELECT (SELECT setting FROM pg_settings WHERE name = 'data_directory') AS directory,
       coalesce((SELECT pg_tablespace_location(oid) FROM pg_tablespace
                 WHERE spcname = nullif(current_setting('default_tablespace'), '')),
                (SELECT pg_tablespace_location(dattablespace) FROM pg_database
                 WHERE datname = 'template1')) AS tables

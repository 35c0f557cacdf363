-- Indexes of the database that are there and that no query uses, because making them failed.

SELECT indexrelid::regclass::text AS name FROM pg_index WHERE NOT indisvalid ORDER BY 1

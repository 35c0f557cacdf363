-- The settings that decide what survives a power cut.

SELECT name, setting FROM pg_settings WHERE name IN
('fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names')

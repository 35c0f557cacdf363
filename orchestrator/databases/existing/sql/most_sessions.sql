-- How many sessions the server takes, how many of them it keeps for superusers, and whether our user
-- is one. NULL where a server that only is like PostgreSQL does not know the setting.

SELECT current_setting('max_connections') AS most,
  current_setting('superuser_reserved_connections', true) AS reserved,
  current_setting('is_superuser', true) AS superuser

-- Settings in force.

SELECT name, current_setting(name) AS value FROM pg_settings WHERE {condition} ORDER BY name

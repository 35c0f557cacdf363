-- Not its defaults, and not what says only where it is or who reads its log. Texts are
-- left out: they are paths, addresses and commands, of which some hold passwords.

SELECT name, current_setting(name) AS setting FROM pg_settings
WHERE name IN ('max_connections', 'shared_buffers', 'checkpoint_timeout')
   OR (vartype <> 'string' OR name = 'shared_preload_libraries')
      AND setting IS DISTINCT FROM boot_val AND name <> 'max_stack_depth'
      AND source NOT IN ('client', 'session', 'environment variable')
      AND category !~ '^(File Locations|Preset Options|Connections and Authentication|Developer)'
      AND category !~ '^(Client Connection Defaults / (Locale|Other)|Reporting.*(Where|Process))'
ORDER BY name

-- All settings of a new session, as a bundle shows them: of what type each is decides that.

SELECT name, setting, unit, vartype, source FROM pg_settings ORDER BY name

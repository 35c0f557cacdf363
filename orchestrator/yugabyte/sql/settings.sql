-- Settings of a new session; null where the release lacks one.

SELECT name, current_setting(name, true) AS value FROM (VALUES {names}) AS s(name)

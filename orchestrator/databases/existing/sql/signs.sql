-- Which of these settings and functions it has.

SELECT name FROM pg_settings WHERE name IN ({names})
UNION ALL SELECT proname::text FROM pg_proc WHERE proname IN ({names})

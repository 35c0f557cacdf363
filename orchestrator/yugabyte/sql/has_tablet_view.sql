-- Whether the release has the view of tablets: a question to one that is not there is an error.

SELECT to_regclass('pg_catalog.yb_tablet_metadata') IS NOT NULL AS has

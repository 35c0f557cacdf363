-- The wait events that this release knows.

SELECT DISTINCT wait_event AS event FROM yb_wait_event_desc

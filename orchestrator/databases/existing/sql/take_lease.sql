-- Takes the lease: a row if it was free, ours, or silent for too long.

INSERT INTO lease VALUES (1, '{holder}', clock_timestamp()) ON CONFLICT (one) DO UPDATE
SET holder = excluded.holder, beat = excluded.beat WHERE lease.holder = excluded.holder
OR lease.beat < excluded.beat - interval '{silent_s} s' RETURNING holder

-- Testers may be other users.

CREATE TABLE lease (one int PRIMARY KEY, holder text NOT NULL, beat timestamptz NOT NULL);
GRANT SELECT, INSERT, UPDATE, DELETE ON lease TO PUBLIC

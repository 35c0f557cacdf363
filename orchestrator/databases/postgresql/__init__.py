"""PostgreSQL: one primary and standbys that commit by quorum."""

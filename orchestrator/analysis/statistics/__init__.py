"""Numbers in, numbers out: what is taken for a difference, a level, an interval."""

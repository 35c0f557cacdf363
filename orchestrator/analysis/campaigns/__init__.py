"""Several stored campaigns: their list, one against another, and trends."""

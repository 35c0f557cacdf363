"""A plan becomes records: the only part that starts anything."""

"""Members of families by their names: built-in ones, and those that extensions bring."""

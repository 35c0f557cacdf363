"""BenchBase, as an alternative for the TPC-C-derived mix."""

"""BenchBase: `generator.py` runs it, `results.py` reads what it left, `config.py` says what a
workload's file may set, which needs no library of tables."""

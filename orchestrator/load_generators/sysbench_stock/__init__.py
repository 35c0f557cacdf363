"""Stock sysbench: `generator.py` runs it and reads what it printed, `scripts.py` says what a
workload's file may set, which needs no library of tables."""

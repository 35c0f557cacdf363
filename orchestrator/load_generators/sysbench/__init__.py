"""sysbench with our workloads: `generator.py` runs it and reads what it left, `command_lines.py`
says what a workload's file may set, which needs no library of tables."""

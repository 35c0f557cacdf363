"""Our own scripts of `workloads/` on sysbench's threads."""

"""sysbench with the workloads of `workloads/`."""

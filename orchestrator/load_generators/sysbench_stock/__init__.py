"""sysbench's own workloads, unmodified, through its own PostgreSQL driver."""

"""Counters of nodes and disks → rates, what was used of each limit, and the bottleneck."""

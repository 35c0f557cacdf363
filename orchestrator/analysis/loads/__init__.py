"""Workloads at loads of their own: sweeps, rates that a tier does not serve, the same rate."""

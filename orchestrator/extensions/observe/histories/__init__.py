"""Histories: what other programs have kept of a disk's counters → sums over intervals."""

"""Counters of disks, read now: at exporters, or by an agent on each machine."""

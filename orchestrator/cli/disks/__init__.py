"""Commands for disks that stand."""

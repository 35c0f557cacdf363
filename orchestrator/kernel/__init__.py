"""What Linux tells of disks, by any machine's /proc and /sys: mounts, devices, counters."""

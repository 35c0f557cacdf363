"""What a running cluster asked of its disks, replayed against limits that it did not have. Pure."""

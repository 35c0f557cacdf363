"""`tierbench observe`, which reads a running cluster, and loads nothing."""

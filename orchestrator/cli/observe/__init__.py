"""The command that reads a running cluster, and loads nothing."""

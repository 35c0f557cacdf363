"""A cluster that others run: used as it is, never started, never stopped."""

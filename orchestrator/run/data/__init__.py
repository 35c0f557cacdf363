"""Data sets: loaded once, kept as snapshots, and copied for each run."""

"""Several clients that carry one load together."""

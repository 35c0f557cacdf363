"""Commands that measure: from what is asked to a plan, its runs and their answer."""

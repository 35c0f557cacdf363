"""Records become verdicts. Pure: reads nothing but a loaded campaign, starts nothing."""

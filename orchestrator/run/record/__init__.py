"""One run while it is made: what its steps share, what is sampled, and what the run leaves."""

"""What can be found out before anything starts: checks, needs, and a forecast."""

"""What one measured tier says of others: demands of a run, a simulation of them, and intervals."""

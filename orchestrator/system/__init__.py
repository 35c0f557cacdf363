"""The outside world without containers: one power each."""

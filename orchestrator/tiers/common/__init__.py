"""What several tier mechanisms share."""

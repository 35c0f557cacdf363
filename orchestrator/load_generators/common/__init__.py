"""What several load generators share."""

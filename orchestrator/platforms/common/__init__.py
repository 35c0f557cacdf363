"""What several platforms share."""

"""What several databases share."""

"""Code that several databases share."""

"""Code that several collectors share."""

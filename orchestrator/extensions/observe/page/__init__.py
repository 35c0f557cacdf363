"""What an observation answers, in words and as a page."""

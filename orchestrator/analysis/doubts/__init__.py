"""Reasons to distrust a number, by what they are about."""

"""Drawings: one module for each kind, and what all of them share."""

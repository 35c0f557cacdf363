"""Faults by seed: what people and other programs hand in, damaged; and campaigns that are hit."""

"""What every disk of a node needs, whether it is emulated or real."""

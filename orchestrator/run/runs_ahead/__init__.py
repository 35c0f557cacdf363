"""Which runs are still ahead, what may be added to them, and how long such runs took before."""

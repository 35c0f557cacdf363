"""Burst credit of a disk, in I/Os or bytes: what a full bucket holds, and what use leaves of it.

It drains by what is used above the base rate, and fills by what is left of that rate. Pure."""


def full_bucket(base_per_s: float, peak_per_s: float, duration_s: float) -> float:
    """What lasts for that long at the peak rate, while the bucket refills at the base rate."""
    return (peak_per_s - base_per_s) * duration_s


def after(credit: float, earned: float, full: float) -> float:
    """What is then in a bucket. `earned`: below zero for what was used above the base rate."""
    # A full bucket takes no more, and an empty one lends nothing.
    return min(full, max(0.0, credit + earned))

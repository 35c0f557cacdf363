"""Distributions, by SciPy: it is imported when one is asked for, because most commands ask for none
and its import takes longer than they do."""

from functools import lru_cache


def t_below(freedom: float, t: float) -> float:
    """The chance that Student's t is `t` or less."""
    from scipy import special

    return float(special.stdtr(freedom, t))


@lru_cache(maxsize=1024)  # a campaign asks for the same few of them many times
def t_quantile(freedom: float, chance: float) -> float:
    """What Student's t stays below with this chance."""
    from scipy import special

    return float(special.stdtrit(freedom, chance))


def t_offset(freedom: float, chance: float, t: float) -> float:
    """The noncentrality at which noncentral t stays below `t` with this chance."""
    from scipy import special

    return float(special.nctdtrinc(freedom, chance, t))


def normal_below(deviations: float) -> float:
    """The chance that a normal value is so many standard deviations above its mean, or less."""
    from scipy import special

    return float(special.ndtr(deviations))


def chi_square_quantile(freedom: float, chance_above: float) -> float:
    """What chi-square exceeds with this chance."""
    from scipy import special

    return float(special.chdtri(freedom, chance_above))

"""How far the number of arrivals at random may be from what is expected of them. Pure."""

CHANCE = (
    3.0  # standard deviations of their number in a window: roots of what is expected
)

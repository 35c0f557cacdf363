"""How far the number of arrivals at random may be from what is expected of them. Pure."""

# Standard deviations of their number in a window. Of Poisson arrivals one is the root of what is
# expected. Three are exceeded in about one of 700 windows.
CHANCE = 3.0

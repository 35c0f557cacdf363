"""The levels at which a decision proves something. Pure.

A claim such as "this tier is enough" is wrong in one direction only, so its tests are one-sided.
Each end of an interval that is shown beside it is a one-sided bound at the same level."""

from orchestrator.analysis.statistics import stats

# The level of a claim that is made alone: 5 %.
ONE_SIDED = 1 - stats.CONFIDENCE
# The confidence of the intervals that are shown: 90 %.
SHOWN = 1 - 2 * ONE_SIDED
# A claim whose p-value is above 1 − this is not made, so that it costs the others no level.
DISCARDED = 0.1
# The order within a repetition is a factor from so many on. With fewer, the degree of freedom that
# it takes costs more than a slow first run of each.
ORDER_REPETITIONS = 5

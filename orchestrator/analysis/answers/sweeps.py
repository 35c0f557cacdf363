"""Which load a tier takes, by a sweep of loads, in a sentence. Pure."""

from orchestrator.analysis.conclusions import TierValues, VariedWorkload
from orchestrator.metrics import value_in_words
from orchestrator.texts import prose


def load_taken(sweep: VariedWorkload, tier: TierValues) -> str:
    """Its highest throughput, its knee, and its capacity at the SLO."""
    if tier.peak_per_s is None:
        return f"{tier.tier}: no load left figures"
    peak = value_in_words("throughput_per_s", tier.peak_per_s)
    # A higher load may do more if throughput rose with the last one too.
    knee = "was not reached"
    if tier.knee is not None:
        knee = f"is at {sweep.word(tier.knee)}"
    text = (
        f"{tier.tier}: at most {peak} from {sweep.values[0]} to {sweep.values[-1]}; "
        f"the knee {knee}{_capacity(sweep, tier)}"
    )
    if not tier.stopped:
        return text
    return f"{text}: {tier.stopped}"


def _capacity(sweep: VariedWorkload, tier: TierValues) -> str:
    """The highest load proven to meet the latencies of the SLO; empty without one."""
    clauses = prose.listed(sweep.slo)
    if tier.at_slo is not None and tier.at_slo_per_s is not None:
        rate = value_in_words("throughput_per_s", tier.at_slo_per_s)
        return f"; proven to meet {clauses} up to {sweep.word(tier.at_slo)} ({rate})"
    if not sweep.slo:
        return ""
    return f"; no load is proven to meet {clauses}"

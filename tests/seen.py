"""What was seen of a node, changed."""

from orchestrator.analysis.telemetry.use.node_values import Evidence, of_figures


def but(values: Evidence, **figures: float) -> Evidence:
    """The same values but for these."""
    return of_figures({**values.sampled(), **figures})

"""What a chart draws of a workload's rate, by the metric in which the workload is counted."""

from orchestrator.report.blocks import Measure

_RATES = (
    Measure("throughput_per_s", "throughput", "Throughput", "transactions/s"),
    Measure("nopm", "throughput", "NOPM", "NOPM"),
    Measure("payload_bytes_per_s", "throughput", "Payload", "MB/s", 1e-6),
)


def drawn_rate(metric: str) -> Measure:
    """`metric`: of `ReportIndex.throughput_metric`. KeyError for one that is no rate."""
    for measure in _RATES:
        if measure.metric == metric:
            return measure
    raise KeyError(metric)

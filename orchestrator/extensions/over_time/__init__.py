"""Several stored campaigns: their list, a tier's rate over time, what changed from one to another,
and names for those that later ones are compared with."""

from orchestrator.registry.extension import CommandEntry, Extension

_PANEL = "Read results"

EXTENSION = Extension(
    commands={
        "history": CommandEntry(
            "orchestrator.extensions.over_time.commands:history",
            help=(
                "Lists what was measured, observed and predicted, the newest first; "
                "with --trend, where a tier's rate changed."
            ),
            panel=_PANEL,
            example="history --profile ultra --workload tpcc --trend",
        ),
        "compare-results": CommandEntry(
            "orchestrator.extensions.over_time.commands:compare_results",
            help=(
                "What changed from one stored campaign to another: each tier and "
                "workload in both."
            ),
            panel=_PANEL,
            example="compare-results january latest",
        ),
    },
    subcommands={
        "admin baseline": "orchestrator.extensions.over_time.commands:baseline"
    },
)

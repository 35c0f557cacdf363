"""What one measured tier says of others: demands of a run, a simulation of them, and intervals."""

from orchestrator.registry.extension import CommandEntry, Extension

_PANEL = "Read results"

EXTENSION = Extension(
    needs=("observe",),
    commands={
        "advise": CommandEntry(
            "orchestrator.extensions.predict.commands:advise",
            help=(
                "Names the cheapest tiers that a run predicts to meet an SLO, and "
                "which to measure next. It looks at single disks, stripes of "
                "several, a second disk for the log, and other machines."
            ),
            panel=_PANEL,
            example='advise latest/03-ultra-tpcc-r1 --slo "p99 < 20 ms"',
        ),
        "predict": CommandEntry(
            "orchestrator.extensions.predict.commands:predict",
            help=(
                "Predicts from a run what other tiers would do. Without --tier: "
                "those measured beside it, with what they did, and all of the "
                "catalog."
            ),
            panel=_PANEL,
            example="predict latest/03-ultra-tpcc-r1 --tier azure/P30",
        ),
    },
    sections={"predicted": "orchestrator.extensions.predict.section:section"},
    pages={"predicted": "orchestrator.extensions.predict.stored:stored_page"},
    kept={"prediction": "orchestrator.extensions.predict.listed:entries"},
)

"""Stock sysbench: `generator.py` runs it and reads what it printed, `scripts.py` says what a
workload's file may set, which needs no library of tables."""

from orchestrator.registry.extension import Extension, GeneratorEntry

EXTENSION = Extension(
    load_generators={
        "sysbench-stock": GeneratorEntry(
            "orchestrator.extensions.sysbench_stock.generator:from_environment",
            rules="orchestrator.extensions.sysbench_stock.scripts:RULES",
        )
    },
)

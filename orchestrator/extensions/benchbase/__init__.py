"""BenchBase: `generator.py` runs it, `results.py` reads what it left, `config.py` says what a
workload's file may set, which needs no library of tables."""

from orchestrator.registry.extension import Extension, GeneratorEntry

EXTENSION = Extension(
    load_generators={
        "benchbase": GeneratorEntry(
            "orchestrator.extensions.benchbase.generator:from_environment",
            rules="orchestrator.extensions.benchbase.config:RULES",
            takes_over="runs tpcc, not the built-in.",
            whereabouts="orchestrator.extensions.benchbase.distribution:where_it_is",
        )
    },
)

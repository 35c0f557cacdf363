"""What this distribution brings to tierbench. Nothing else of it is imported until it is used."""

from orchestrator.registry.extension import (
    CommandEntry,
    DatabaseEntry,
    DoubtEntry,
    Extension,
    GeneratorEntry,
)

EXTENSION = Extension(
    databases={
        "plain-postgresql": DatabaseEntry("tierbench_pgbench.database:PlainPostgreSQL")
    },
    load_generators={
        "pgbench": GeneratorEntry(
            "tierbench_pgbench.load:PgBench", rules="tierbench_pgbench.rules:RULES"
        )
    },
    doubts={
        "few branches": DoubtEntry("tierbench_pgbench.doubts:few_branches", "limits")
    },
    commands={
        "pgbench-files": CommandEntry(
            "tierbench_pgbench.command:write",
            help="Writes a profile and a workload of pgbench into this folder.",
            panel="Prepare",
            example="pgbench-files",
        )
    },
    sections={"pgbench": "tierbench_pgbench.section:sections"},
)

"""A demand without a campaign: what a running cluster asked of its disks, and which would have
carried it.

`commands/` reads the options, `histories/` what other programs have kept, and `live/` counters as
they grow. `judging/` replays all that against other disks, `page/` shows the answer. What a
provider counted of the disks of a campaign comes in by `campaign_disks/`."""

from orchestrator.registry.extension import CommandEntry, Extension

EXTENSION = Extension(
    commands={
        "observe": CommandEntry(
            "orchestrator.extensions.observe.commands.observe:observe",
            help=(
                "Replays what a running cluster asked of its disks against all disks "
                "of the catalog; loads nothing."
            ),
            panel="Measure",
            example="observe --file disk.csv --size 500GiB --at-cap 0.5",
            first_options=(
                "file prometheus exporter profile last device size source vm region "
                "at_cap results"
            ),
            when_interrupted=(
                "the same command goes on in the same folder until `--last` is over, "
                "if it reads live. `--file` with that folder judges what was read so "
                "far"
            ),
        )
    },
    kept={"observation": "orchestrator.extensions.observe.listed:entries"},
    options={
        "--disk-metrics": (
            "orchestrator.extensions.observe.campaign_disks.disk_metrics:keep"
        )
    },
)

"""Disks outside of a campaign: a tier's disk for any program, and a disk measured into a file."""

from orchestrator.registry.extension import CommandEntry, Extension

EXTENSION = Extension(
    commands={
        "disk": CommandEntry(
            "orchestrator.extensions.standing_disks.commands:disk",
            help="A tier's disk for any program.",
            panel="Disks and clusters",
            example="disk up azure/P30 --at /mnt/p30",
        )
    }
)

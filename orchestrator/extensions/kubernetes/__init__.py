"""Kubernetes: files for people who run it themselves."""

from orchestrator.registry.extension import CommandEntry, Extension

EXTENSION = Extension(
    commands={
        "storage-class": CommandEntry(
            "orchestrator.extensions.kubernetes.commands:storage_class",
            help=(
                "Prints the StorageClass whose volumes are a profile's disks, and that "
                "of its log's disks."
            ),
            panel="Disks and clusters",
            example="storage-class profiles/cluster.yaml",
        )
    },
    subcommands={
        "admin helm-values": "orchestrator.extensions.kubernetes.commands:helm_values"
    },
)

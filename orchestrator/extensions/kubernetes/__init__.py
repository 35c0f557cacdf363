"""A Kubernetes cluster as the place where containers run, through its official Python client; disks
that are volumes of its StorageClasses; files for people who run one themselves. Only this folder
imports the client."""

from orchestrator.registry.extension import CommandEntry, Extension

EXTENSION = Extension(
    tiers={
        "storage-class": "orchestrator.extensions.kubernetes.storage_class:StorageClassTier"
    },
    platforms={"kubernetes": "orchestrator.extensions.kubernetes.connecting:connected"},
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

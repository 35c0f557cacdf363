"""Hadoop's file system: HDFS and stores of files as databases, and Hadoop's own jobs on them."""

from orchestrator.registry.extension import (
    DatabaseEntry,
    DoubtEntry,
    Extension,
    GeneratorEntry,
)

EXTENSION = Extension(
    databases={
        "hdfs": DatabaseEntry(
            "orchestrator.extensions.hadoop.hdfs:Hdfs",
            takes_files=True,
            on_several_engines=False,
            image="hadoop",
        ),
        "store": DatabaseEntry(
            "orchestrator.extensions.hadoop.store:Store",
            takes_files=True,
            for_users=False,
        ),
    },
    load_generators={
        "tera": GeneratorEntry(
            "orchestrator.extensions.hadoop.tera:Tera",
            rules="orchestrator.extensions.hadoop.tera:RULES",
            loads_files=True,
        )
    },
    doubts={
        "copies differ": DoubtEntry(
            "orchestrator.extensions.hadoop.doubts:copies_differ", "limits"
        )
    },
)

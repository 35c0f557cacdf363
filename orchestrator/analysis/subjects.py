"""What a difference of two runs may be about: its subject, by topic and key. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from orchestrator.design import factors


class Topic(Enum):
    """What a difference is about, in the words that begin its title."""

    # what was asked for
    DATABASE = "database"
    VERSION_ASKED = "asked-for version"
    CLUSTER = "cluster's"  # a factor; its title is that of `factors.OF_CLUSTER`
    SIZE_DECLARED = "size of a node"
    SETTING = "setting"
    DATA_FAMILY = "data set"
    DATA_SET = "data set's"
    OPTION = "workload option"
    WORKLOAD = "workload's"
    # what was seen
    MACHINE_CPUS = "CPUs of the machines, as seen,"
    MACHINE_MEMORY = "memory of the machines, as seen,"
    NODE_CPUS = "CPUs of the nodes, as seen,"
    NODE_MEMORY = "memory of the nodes, as seen,"
    CPUS_PER_NODE = "CPUs per node"
    MEMORY_PER_NODE = "memory per node"
    POOLER = "connection pooler"
    HOSTS = "named hosts"
    RUNNING = "running database's"
    GENERATOR_VERSION = "load generator's version"
    BATCHING = "load generator's batching of statements"
    SCRIPTS = "workload's scripts (hash)"
    TLS = "`tls` of sessions"
    DATA_BEFORE = "data before the run"
    BURST_CREDIT = "burst credit for"
    FILE_SYSTEM = "file system"

    # A campaign is compared by millions of look-ups, and Enum's own hash is a function in Python.
    __hash__ = object.__hash__


@dataclass(frozen=True)
class Subject:
    """A topic, and of one that has several the key: a setting's name, a field, a path of names."""

    topic: Topic
    key: str = ""

    @property
    def title(self) -> str:
        if self.topic is Topic.CLUSTER:
            return factors.OF_CLUSTER[self.key].title
        words = str(self.topic.value)
        if self.topic is Topic.BURST_CREDIT:
            return f"{words} {self.key} at the begin:"
        if self.key:
            return f"{words} {self.key}"
        return words


Values = Mapping[Subject, Any]

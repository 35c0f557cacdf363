"""Containers: what is started, and what can be done with one that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypedDict, Unpack

from orchestrator.powers.commands import Completed
from orchestrator.powers.machines import Machine


@dataclass(frozen=True)
class Mount:
    """A named volume, or a folder (starts with "/") of the container's machine, which is made if it
    is not there, at a path in the container. alone: without what is mounted below the folder, which
    the container would keep from being unmounted; such a folder must be there."""

    source: str
    target: str
    read_only: bool = False
    alone: bool = False


HOST_NETWORK = "host"  # the network of the machine itself
NETWORK_OF = "container:"  # begins the network of another container, before its name
UNLIMITED = "unlimited"  # a limit of a container's processes, as the kernel writes it


@dataclass(frozen=True)
class ContainerSpec:
    """One container to start."""

    name: str
    image: str
    command: tuple[str, ...]
    role: str
    entrypoint: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    # Path → name → content: its own, and there before its command begins. For a few small files:
    # any other can be `put` into it later. It may write into a folder without any.
    folders: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict, repr=False)
    network: str | None = None
    address: str | None = None
    # Container port → port on 127.0.0.1; None for any free one.
    ports: Mapping[int, int | None] = field(default_factory=dict)
    cpus: float | None = None
    cpu_shares: int | None = None
    memory_bytes: int | None = None
    shared_memory_bytes: int | None = None
    # `nofile`, `nproc`: wishes, which an engine may refuse.
    ulimits: Mapping[str, int] = field(default_factory=dict)
    init: bool = False
    host_devices: bool = False
    # All that it has of root's (without CAP_), and it gains no others; None: the engine's own.
    # With these it is in no network unless `network` names one, as far as the platform can.
    capabilities: tuple[str, ...] | None = None
    stop_timeout_s: int = 20
    # Kept with a container that stands (`Platform.stand`).
    note: str = ""
    # Containers of one placement run on one machine, as those of a node and of its disk's server
    # ("node-1"). Nodes are spread over the machines; "" runs on any.
    placement: str = ""


@dataclass(frozen=True)
class ContainerState:
    """How a container stands. words: for messages, "running", "exited (exit 137)", "gone", …

    exit_code: with which it ended; None if it has not, or that is not known. is_lost: nothing is
    heard of its machine any more.
    """

    words: str
    is_running: bool = False
    exit_code: int | None = None
    is_lost: bool = False


RUNNING = ContainerState("running", is_running=True)
GONE = ContainerState("gone")


@dataclass(frozen=True)
class ContainerEntry:
    """A container as a platform lists it. `note`: its spec's, "" if it does not stand."""

    name: str
    note: str
    state: ContainerState


@dataclass(frozen=True)
class Network:
    """A network, with one address (IP or DNS name) for each node."""

    name: str
    addresses: tuple[str, ...]


class Conversation(Protocol):
    """A command that runs in a container and is talked with: lines to its standard input, and from
    its standard output. RunError if it has ended, or gives no line within the timeout."""

    def send(self, line: str) -> None: ...

    def receive(self, timeout_s: float) -> str: ...


class How(TypedDict, total=False):
    """How a command is run. `on_line` gets each line of its standard output. NodeError if one of
    `watch` no longer runs."""

    env: Mapping[str, str] | None
    on_line: Callable[[str], None] | None
    watch: Sequence[Container]
    user: str


@dataclass(frozen=True)
class ContainerLimits:
    """How the limits of a running container are changed.

    `lift` takes away those of processors and memory. `set_cpus` changes how many processors it may
    use, until it ends or is told again; None: all. `find_cpus` returns how many it may use; None:
    all that its machine has.
    """

    lift: Callable[[], None]
    set_cpus: Callable[[float | None], None]
    find_cpus: Callable[[], float | None]


class Container(Protocol):
    """A container by its name, and what can be done with it; to have one asks nothing. All but the
    name is known only if this program has started it."""

    name: str
    id: str
    # None if only its machine knows.
    process_id: int | None
    # The address of its spec, or the one that a pod got.
    address: str | None
    # Container port → port on `host`, as seen from here.
    ports: Mapping[int, int]
    # The limits of its spec that are in force, a number or UNLIMITED; empty if unread.
    ulimits: Mapping[str, str]
    host: str

    @property
    def limits(self) -> ContainerLimits | None:
        """How its limits are changed while it runs; None: they cannot be."""
        return None

    def exec(
        self, argv: Sequence[str], *, timeout_s: float, **how: Unpack[How]
    ) -> Completed:
        """Runs a command to its end. RunError past the deadline. A non-zero exit is returned."""

    def conversation(self, argv: Sequence[str]) -> AbstractContextManager[Conversation]:
        """Runs a command in it until the block ends, and talks with that."""

    def put(self, source: Path, target: str) -> None:
        """Copies a file to the path `target`, or a folder's files into a folder that is there."""

    def fetch(self, folder: str, target: Path) -> None:
        """Copies all files of a folder, while it runs, into the folder `target` of this computer.
        RunError if one would be outside of that."""

    def stop(self, timeout_s: float) -> None:
        """Stops politely (TERM, then KILL past the timeout); the container and its logs stay."""

    def remove(self, timeout_s: float) -> None:
        """Stops politely and removes it, if it is there. RunError if it stays."""

    def state(self) -> ContainerState:
        """How it stands now, also if it is gone."""

    def logs(self, tail: int | None = None) -> str: ...

    def find_machine(self) -> Machine:
        """Returns the machine that runs it. RunError if that is not known."""

    def find_image(self) -> str:
        """Returns the id of the image that it was made from; "" if it is gone."""


class Images(Protocol):
    def present(self, tag: str) -> bool:
        return self.id(tag) is not None

    def id(self, tag: str) -> str | None:
        """Returns the id of the image that a tag names now; None if it is not here."""

    @property
    def architecture(self) -> str:
        """The architecture of the machines that run images, as images name it (amd64, arm64).

        "" if it is not known or machines differ.
        """

    def mismatch(self, tag: str) -> str:
        """Returns how the architecture of an image that is here differs from that of its engine, in
        words; "" if it does not, or if that is not known."""

    def pull(self, tag: str) -> bool:
        """Returns whether the image could be pulled."""

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        """Builds the image that `folder` describes. RunError with the last lines of output."""

    def ways_to_get(self, tag: str) -> str:
        """Returns how a person can bring an image here, as part of an advice."""

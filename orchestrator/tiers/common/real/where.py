"""Where containers run: what can be done on one machine only, or only on this computer, and which
machine has the disks of which nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.errors import TierbenchError, UnavailableError
from orchestrator.platforms.common.machines import HasEngines, is_here, on
from orchestrator.powers import World
from orchestrator.tier import Tier
from orchestrator.units import listed

Thing = TypeVar("Thing")


def require_here(what: str, world: World) -> None:
    """UnavailableError if containers run elsewhere; `what`: "`disk up` mounts a disk"."""
    if is_here(world):
        return
    names = listed([machine.name for machine in world.platform.machines()])
    raise UnavailableError(
        f"{what} on the computer it is started on, but containers run on {names}",
        advice="start this program there, or let it use an engine of this computer",
    )


def require_one_machine(tier: Tier, world: World) -> None:
    """UnavailableError for real disks if nodes are spread over several machines: they are looked
    for and made ready on one."""
    names = [machine.name for machine in world.platform.machines()]
    if len(names) > 1:
        raise UnavailableError(
            f"{tier.name} names disks by their paths on one machine, but nodes are spread over "
            f"{listed(names)}",
            advice="take `enforcement: storage-class` on Kubernetes, or `existing` for a cluster "
            "that runs already; or name an engine for each node: `machines` in the profile",
        )


@dataclass(frozen=True)
class MachineShare:
    """A machine and the nodes whose disks are mounted there. `world`: the outside as if there were
    no other machine. `machine`: its name, if there are several."""

    world: World
    nodes: tuple[str, ...]
    machine: str = ""

    @contextmanager
    def naming(self, but: BaseException | None = None) -> Iterator[None]:
        """Errors in the block say which of several machines they are about, `but` for this one."""
        try:
            yield
        except TierbenchError as error:
            name = f"{self.machine}: " if self.machine else ""
            if error is not but and not error.what.startswith(name):
                error.what = f"{name}{error.what}"
                error.args = (error.what,)
            raise

    @contextmanager
    def entered(self, bracket: AbstractContextManager[Thing]) -> Iterator[Thing]:
        """Errors at both ends of the bracket are named, and not those of what it holds."""
        with ExitStack() as up:
            with self.naming():
                thing = up.enter_context(bracket)
            leave = up.pop_all()
            try:
                yield thing
            except BaseException as error:
                with self.naming(but=error):
                    if not leave.__exit__(type(error), error, error.__traceback__):
                        raise
            else:
                with self.naming():
                    leave.close()


def shares(tier: Tier, nodes: Sequence[str], world: World) -> tuple[MachineShare, ...]:
    """The machines that have the disks of these nodes: all of them the only one, or each node its
    own. UnavailableError as `require_one_machine`, if the tier does not say on which machines its
    disks are."""
    machines = {
        node: tier.disk.of_nodes[node].machine for node in nodes if node in tier.disk.of_nodes
    }
    if isinstance(world.platform, HasEngines) and any(machines.values()):
        return tuple(MachineShare(on(node, world), (node,), machines[node]) for node in nodes)
    require_one_machine(tier, world)
    return (MachineShare(world, tuple(nodes)),)

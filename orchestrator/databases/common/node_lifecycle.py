"""The life of database nodes in containers: waiting until they are ready, commands, stopping.

A node that dies is an error with its last log lines (`raise_if_dead`), because they say why. Nodes
with kept disks are stopped cleanly (`stopped`), because the next run starts from these disks.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from orchestrator.errors import NodeError, RunError, TierbenchError
from orchestrator.model import (
    Node,
    Volume,
)
from orchestrator.powers import (
    Completed,
    Container,
    ContainerSpec,
    ContainerState,
    World,
)
from orchestrator.system import at_once, clock

_EMPTY_S = 900.0
Log = Callable[[str, World], str]


def last_lines(name: str, world: World) -> str:
    """The last lines of a container's log, under its name."""
    log = world.platform.container(name).logs(tail=20)
    return f"{name}:\n{log}"


def raise_if_dead(names: Sequence[str], world: World, log: Log = last_lines) -> None:
    """NodeError, with its last lines, for the first container that no longer runs."""
    states = at_once.each(lambda name: world.platform.container(name).state(), names)
    for name, state in zip(names, states, strict=True):
        if not state.is_running:
            raise _dead(name, state, log(name, world))


def _dead(name: str, state: ContainerState, log: str) -> NodeError:
    # 128 and SIGKILL, which yugabyted sends its own process group too.
    if state.exit_code == 137:
        advice = (
            "exit code 137 is a kill. The kernel did it for want of memory, or "
            "YugabyteDB itself after a failed start. Its last log lines say "
            "which"
        )
    else:
        advice = (
            "its last log lines say why. If it ran out of memory, give nodes more of it"
        )
    what = f"the database node {name} is {state.words}"
    return NodeError(what, advice, evidence=log)


def stop(names: Sequence[str], timeout_s: float, world: World) -> None:
    """Stops all nodes at once, so that none goes on without the others; kills what runs longer."""

    def stop_node(name: str) -> None:
        with suppress(TierbenchError):  # the removal of the container reports it
            world.platform.container(name).stop(timeout_s)

    at_once.each(stop_node, names)


@contextmanager
def stopped(
    names: Sequence[str],
    volumes: Sequence[Volume],
    last: str,
    most_s: float,
    world: World,
) -> Iterator[None]:
    """Stops the servers behind the block: on kept disks the first before the others, and NodeError
    unless the log of each ends with `last`. Kills them on other disks, and after an error."""
    try:
        yield
    except BaseException:
        stop(names, 0, world)
        raise
    if not any(volume.kept for volume in volumes):
        stop(names, 0, world)
        return

    def stop_cleanly(name: str) -> None:
        container = world.platform.container(name)
        container.stop(most_s)
        log = last_lines(name, world)
        if last not in log:
            raise NodeError(
                f"{name} did not stop cleanly ({container.state().words})",
                advice=(
                    f"its disk cannot be kept; the node had {most_s:g} s to write its "
                    "data"
                ),
                evidence=log,
            )

    stop_cleanly(names[0])
    at_once.each(stop_cleanly, names[1:])


def started_anew(
    node: Node, plan: ContainerSpec, folders: Sequence[str], world: World
) -> Node:
    """Kills a node, removes these folders of its disks, and starts it; returns it as it is now."""
    world.platform.container(plan.name).remove(0)  # it gets no time to stop cleanly
    empty(plan, ("rm", "-rf", *folders), world)
    up = world.platform.stand(plan)  # the name alone marks it: it has no note
    return replace(node, container_id=up.id, process_id=up.process_id)


def empty(plan: ContainerSpec, argv: tuple[str, ...], world: World) -> None:
    """Empties a node's disks by this command. RunError if something stays."""
    done = on_its_disks(plan, "empty", argv, _EMPTY_S, world)
    if done.exit_code != 0:
        raise RunError(
            f"the disk of {plan.name} could not be emptied", evidence=done.tail()
        )


def on_its_disks(
    plan: ContainerSpec, name: str, argv: tuple[str, ...], most_s: float, world: World
) -> Completed:
    """Runs a command where a node had its disks, which does not run."""
    # The node's image, disks and machine alone are used: its address may still be taken.
    bare = replace(
        plan,
        name=f"{plan.name}-{name}",
        entrypoint=argv[:1],
        command=argv[1:],
        network=None,
        address=None,
        ports={},
        ulimits={},
        folders={},
    )
    return world.platform.once(bare, most_s)


@contextmanager
def deaths_told(
    nodes: Sequence[Node], world: World, log: Log = last_lines
) -> Iterator[None]:
    """NodeError, instead of an error of the block, if a node died: so the connection was lost."""
    try:
        yield
    except RunError:
        # A connection is lost before the engine notices the death.
        world.clock.sleep(0.5)
        raise_if_dead([node.container_name for node in nodes], world, log)
        raise


def await_ready(
    failed: str,
    missing: Callable[[], str],
    names: Sequence[str],
    world: World,
    *,
    deadline_s: float,
    log: Log = last_lines,
) -> None:
    """Waits until nothing is missing. NodeError if a container dies, and, with every container's
    last lines, past the deadline."""

    def lacking() -> str:
        raise_if_dead(names, world, log)
        # A server that starts refuses connections, or its pages lack parts.
        try:
            return missing()
        except RunError as error:
            return error.what
        except (OSError, KeyError, ValueError) as error:
            return str(error) or "nothing answers"

    state = clock.wait_while(
        lacking, deadline_s=deadline_s, clock=world.clock, every_s=0.2
    )
    if state:
        logs = at_once.each(lambda name: log(name, world), names)
        raise NodeError(
            f"{failed} within {deadline_s:g} s: {state}",
            advice="look at the log below; on a slow disk or with little memory it takes longer",
            evidence="\n".join(logs),
        )


def run(
    node: Node,
    argv: Sequence[str],
    timeout_s: float,
    world: World,
    watched: Sequence[Node],
) -> Completed:
    """Runs a command in a node. RunError if it fails, NodeError if a node of `watched` dies."""
    container = world.platform.container
    watch: list[Container] = []
    for other in watched:
        watch.append(container(other.container_name))
    done = container(node.container_name).exec(argv, timeout_s=timeout_s, watch=watch)
    if done.exit_code == 0:
        return done
    words = " ".join(word for word in argv if not word.startswith("-"))
    raise RunError(
        f"{words} failed on {node.container_name} (exit {done.exit_code})",
        advice="look at the database's log among the raw files of the run",
        evidence=(done.out + done.err)[-2000:],
    )

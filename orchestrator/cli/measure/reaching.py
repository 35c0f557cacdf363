"""Whether what a plan is carried out on answers: engines, machines behind ssh, a Kubernetes
cluster, the hosts of a cluster that others run. All are asked at once; nothing is started."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from orchestrator import errors
from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.design import machines
from orchestrator.design.factors import EXISTING
from orchestrator.model import ClusterSpec, Placing, Plan
from orchestrator.powers import Clock, Platform
from orchestrator.system import at_once
from orchestrator.system.clock import MadeUpClock
from orchestrator.texts import prose

# Longer than ssh (20 s), SQL and Kubernetes (10 s) try to connect, so that they say why.
LIMIT_S = 30.0
_SOON_S = 1.0  # what answers within it is not worth a line in a log
_OFFLINE = "with --offline nothing is asked"


@dataclass(frozen=True)
class Peer:
    """`ask` returns when it has answered, and raises if it does not. `is_needed`: whether a plan
    that it does not answer cannot be looked at as a whole."""

    name: str
    ask: Callable[[], object]
    is_needed: bool = True


@dataclass(frozen=True)
class Reached:
    """`answered`: names of what did; `problems`: an error, with what to do, for each that did not;
    `unchecked`: what did not answer and need not, and why."""

    answered: tuple[str, ...] = ()
    problems: tuple[errors.TierbenchError, ...] = ()
    unchecked: tuple[str, ...] = ()


def reach(app: App, plan: Plan, limit_s: float = LIMIT_S) -> Reached:
    """Asks everything that the plan is carried out on, each for at most `limit_s`."""
    peers = (*_platform_peers(app, plan), *_hosts(app, plan))
    # All at once: one after the other, every silent host would take its whole limit.
    answers = [at_once.begun(partial(_asked, peer)) for peer in peers]
    _await(app, peers, answers, limit_s)
    answered: list[str] = []
    problems: list[errors.TierbenchError] = []
    unchecked: list[str] = []
    for peer, answer in zip(peers, answers, strict=True):
        problem: errors.TierbenchError | None = _silent(peer, limit_s)
        if answer.done():
            # This raises nothing, because `_asked` returns its error.
            problem = answer.result()
        if problem is None:
            answered.append(peer.name)
        # What was written wrong is wrong wherever the plan is made.
        elif peer.is_needed or problem.exit_code == errors.EXIT_USAGE:
            problems.append(problem)
        else:
            unchecked.append(f"{problem.what}: {problem.advice}")
    return Reached(tuple(answered), tuple(problems), tuple(unchecked))


def briefly(
    app: App,
    platform: str,
    placing: Placing | None,
    is_offline: bool,
    limit_s: float = LIMIT_S,
) -> Callable[[], Platform]:
    """What connects while a dry run is planned: once, however often it is called, and for at most
    `limit_s`; offline never. UnavailableError, each time, if there was no answer."""
    begun: list[at_once.StartedCall[Platform]] = []

    def connected() -> Platform:
        peer = Peer(f"the platform {platform}", _nothing)
        if is_offline:
            raise errors.UnavailableError(f"{peer.name}: {_OFFLINE}")
        if not begun:
            connect = partial(app.connection(platform), _without_pauses(app))
            begun.append(at_once.begun(partial(connect, placing or Placing())))
            _await(app, [peer], begun, limit_s)
        answer = begun[0]
        # A second call does not wait again for what was silent once.
        if not answer.done():
            raise _silent(peer, limit_s)
        return answer.result()

    return connected


def _nothing() -> None:
    pass


def _without_pauses(app: App) -> Clock:
    """A clock by which pauses between attempts are over at once: what refuses now is not waited
    for."""
    return MadeUpClock(app.clock.now())


def _await(
    app: App,
    peers: Sequence[Peer],
    answers: Sequence[at_once.StartedCall[Any]],
    limit_s: float,
) -> None:
    """Waits, with a line that says for what: at once on a terminal, else after a second."""
    unsaid_s = min(_SOON_S, limit_s)
    if app.err.is_terminal:
        unsaid_s = 0.0
    at_once.all_ended(answers, unsaid_s)
    silent: list[str] = []
    for peer, answer in zip(peers, answers, strict=True):
        if not answer.done():
            silent.append(peer.name)
    if silent:
        app.progress.step(f"asking whether it answers: {prose.listed(silent)}", limit_s)
        at_once.all_ended(answers, limit_s - unsaid_s)
    app.progress.done()


def _asked(peer: Peer) -> errors.TierbenchError | None:
    """What was wrong; None if it answered."""
    try:
        peer.ask()
    except errors.UsageError as error:
        # It keeps its kind: a mistake in a file ends with 64, whatever does not answer with 69.
        return error
    except errors.TierbenchError as error:
        return errors.UnavailableError(error.what, error.advice or _look_at(peer))
    except OSError as error:
        return errors.UnavailableError(f"{peer.name}: {error}", _look_at(peer))
    return None


def _silent(peer: Peer, limit_s: float) -> errors.UnavailableError:
    what = f"{peer.name}: no answer within {limit_s:g} s"
    return errors.UnavailableError(what, _look_at(peer))


def _look_at(peer: Peer) -> str:
    return f"see that {peer.name} runs and is reached from here; {_OFFLINE}"


# ------------------------------------------------------------------ what is asked


def _platform_peers(app: App, plan: Plan) -> Iterator[Peer]:
    """The Kubernetes cluster; or the engine of each machine and of the client, or the one of the
    environment. One of this computer need not answer: a plan is also made where no Docker is."""
    name = plan.platform or PLATFORM
    placing = plan.placing or Placing()
    if name != PLATFORM:
        yield Peer(f"the platform {name}", partial(_connect, app, name, placing))
        return
    engines = list(placing.machines)
    if placing.client_machine and placing.client_machine not in engines:
        engines.append(placing.client_machine)
    for engine in engines:
        # Each by itself, so that one that is silent does not hide what the others say.
        alone = Placing(machines=(engine,), client_machine=engine)
        title = f"the Docker engine of {machines.known_as(engine)}"
        yield Peer(title, partial(_connect, app, name, alone))
    # Unless a machine is named for it, the client runs on the engine of the environment.
    if not placing.client_machine:
        ask = partial(_connect, app, name, Placing())
        yield Peer("the Docker engine", ask, not _is_of_this_computer())


def _connect(app: App, platform: str, placing: Placing) -> None:
    app.connection(platform)(_without_pauses(app), placing)


def _is_of_this_computer() -> bool:
    # The library of Docker comes with it, and most plans are made without an engine.
    from orchestrator.platforms.docker import connection

    # A wrong DOCKER_HOST is refused when the engine is asked, with what to write.
    with suppress(errors.UsageError):
        return connection.is_behind_socket()
    return False


def clusters_of_others(plan: Plan) -> list[ClusterSpec]:
    """The clusters of the plan that run already, one for each of its profiles that has such."""
    clusters: list[ClusterSpec] = []
    for profile in plan.profiles:
        if profile.cluster.database == EXISTING:
            clusters.append(profile.cluster)
    return clusters


def _hosts(app: App, plan: Plan) -> Iterator[Peer]:
    """Each host of the clusters that others run, by SQL."""
    clusters = clusters_of_others(plan)
    # Code for clusters of others is loaded only for a plan that has one.
    if not clusters:
        return
    database = app.parts(None).databases.get(EXISTING)
    if database is None or database.abilities.hosts is None:
        return
    named: set[str] = set()
    for cluster in clusters:
        for host, ask in database.abilities.hosts(cluster).items():
            # Profiles may share a cluster, whose hosts are asked once.
            if host not in named:
                yield Peer(f"the database at {host}", ask)
            named.add(host)

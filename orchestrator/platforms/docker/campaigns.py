"""What campaigns left on an engine is removed, if it has our label; and what is left of a program
that was killed ends by itself (`SignsOfLife`)."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from docker.errors import APIError, DockerException

from orchestrator.errors import RunError, UnavailableError
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.docker.connection import (
    CAMPAIGN,
    LABEL,
    OURS,
    ROLE,
    STANDING,
    Engine,
)
from orchestrator.platforms.docker.guard import VolumeGuard
from orchestrator.powers import Moment
from orchestrator.system import shell
from orchestrator.system.clock import wait_while

_REMOVAL_S = 20.0
# Kind → how docker-py is told to remove one that is in use.
_REMOVAL = {"container": {"force": True, "v": True}, "volume": {"force": True}}
RENTED = ("database", "disk")  # roles: a client ends itself, much sooner
_STEPS = 12  # steps of a rent of 900 s: a watch in each container wakes each 75 s


def _nothing() -> None:
    """What is only listed stays."""


def _not_of(campaigns: Collection[str | None], things: Iterable[Any]) -> list[Any]:
    """Things that neither stand nor belong to one of these campaigns."""
    left: list[Any] = []
    for thing in things:
        labels = labels_of(thing)
        if STANDING not in labels and labels.get(CAMPAIGN, "") not in campaigns:
            left.append(thing)
    return left


class Leftovers:
    def __init__(self, engine: Engine, guard: VolumeGuard) -> None:
        self._engine = engine
        self._client = engine.client
        self._guard = guard

    def sweep(self, only_list: bool) -> tuple[str, ...]:
        """Removes what `Platform.sweep` says.

        `only_list`: without things of this campaign, which removes them itself.
        """
        # The campaign that is alive now, besides this one.
        spared = {self._guard.other()}
        if only_list:
            # This campaign's objects are removed by themselves, so a list of leftovers leaves them
            # out.
            spared.add(self._engine.campaign)
        swept = lifecycle.Swept()

        def take(kind: str, thing: Any) -> None:
            remove: Callable[[], None] = partial(self.remove, kind, thing)
            if only_list:
                remove = _nothing
            swept.take(f"{kind} {thing.name}", remove)

        with self._engine.errors("removing leftovers"):
            # Databases and clients before disks: a mounted device cannot be removed.
            for container in sorted(self._containers(spared), key=_is_disk):
                if _is_disk(container) and not only_list:
                    self._free_disk(container, self._volumes(spared), swept)
                take("container", container)
            for volume in self._volumes(spared):
                take("volume", volume)
            for network in self._networks(spared):
                take("network", network)
        return swept.result("docker ps -a")

    def _containers(self, spared: Collection[str | None]) -> list[Any]:
        """Ours, but those of the `spared` campaigns; so are volumes and networks below."""
        containers = self._client.containers
        ours = self._engine.patiently(
            lambda: containers.list(all=True, filters=OURS, ignore_removed=True)
        )
        return _not_of(spared, ours)

    def _volumes(self, spared: Collection[str | None]) -> list[Any]:
        ours = self._engine.patiently(lambda: self._client.volumes.list(filters=OURS))
        left = _not_of(spared, ours)
        return [volume for volume in left if not self._guard.keeps(volume)]

    def _networks(self, spared: Collection[str | None]) -> list[Any]:
        ours = self._engine.patiently(lambda: self._client.networks.list(filters=OURS))
        return _not_of(spared, ours)

    def _free_disk(
        self, container: Any, volumes: Iterable[Any], swept: lifecycle.Swept
    ) -> None:
        """Removes the volumes that nothing holds any more, and stops the disk's server."""
        for volume in volumes:
            # A volume that is still used is refused, and comes to its turn after its container.
            with suppress(APIError):
                self._engine.patiently(partial(volume.remove, force=True))
                swept.removed.append(f"volume {volume.name}")
        with suppress(DockerException, OSError):
            self._engine.answering.heard(partial(container.stop, timeout=15))

    def make_room(self, kind: str, name: str, get: Callable[[str], Any]) -> None:
        """Removes our leftover of that name, if any. UnavailableError if it is not ours."""
        leftover = self._engine.found(lambda: get(name))
        if leftover is None:
            return
        if LABEL not in labels_of(leftover):
            how = f"rename or remove it (`docker {kind} rm {name}`)"
            raise UnavailableError(
                f"there is a {kind} named {name} that tierbench did not make: it is "
                "left alone",
                advice=f"{how}, then run again",
            )
        self.remove(kind, leftover)

    def remove_container(self, name: str, container: str) -> None:
        """Removes a container, given its name or id; it is gone when this returns."""
        self._until_gone(
            f"container {name}",
            lambda: self._client.containers.get(container).remove(force=True, v=True),
        )

    def remove(self, kind: str, thing: Any) -> None:
        """Removes a thing that docker-py has; it is gone when this returns."""
        options = _REMOVAL.get(kind, {})
        self._until_gone(f"{kind} {thing.name}", lambda: thing.remove(**options))

    def _until_gone(self, thing: str, remove: Callable[[], None]) -> None:
        """Tries to remove the thing for a while. Somebody else may hold it, or be removing it, at
        this moment."""

        def refusal() -> str:
            try:
                self._engine.found(remove)
            except APIError as error:
                return str(error.explanation or error)
            return ""

        with self._engine.errors(f"removing {thing}"):
            reason = wait_while(
                refusal, deadline_s=_REMOVAL_S, clock=self._engine.clock, every_s=0.2
            )
            if reason:
                raise RunError(
                    f"{thing} could not be removed within {_REMOVAL_S:g} s: {reason}",
                    advice="look with `docker ps -a` at what holds it",
                )


class SignsOfLife:
    """Gives signs of life to containers that end if they hear none for `seconds`, or a step later.

    The first sign starts a watch in each (scripts/sign.sh). What the image runs is as it was.
    """

    def __init__(self, engine: Engine, seconds: int) -> None:
        self._engine = engine
        self._step_s = max(1, seconds // _STEPS)
        self._containers = set[str]()
        self._due: Moment | None = None

    @contextmanager
    def paid(self, container: str) -> Iterator[None]:
        """The container is given each sign until the block ends."""
        self._containers.add(container)
        self._reach(container)
        try:
            yield
        finally:
            self._containers.discard(container)

    def sign(self) -> None:
        """Gives one to all, at most once in two steps. Who cannot be reached is not waited for."""
        # Each sign costs the engine 0.04 s of CPU, and beats come each half minute.
        now = self._engine.clock.monotonic()
        if self._due is None or now >= self._due:
            self._due = now + 2 * self._step_s
            for container in tuple(self._containers):
                self._reach(container)

    def _reach(self, container: str) -> None:
        api: Any = self._engine.client.api
        place = "/tmp/tierbench-rent"
        step_s = str(self._step_s)
        argv = list(shell.script(__package__, "sign", place, step_s, str(_STEPS)))
        # A container that has ended needs no sign; one that misses some ends by itself.
        with suppress(DockerException, OSError):
            command = api.exec_create(container, argv, stdout=False, stderr=False)
            api.exec_start(command["Id"], detach=True)


def labels_of(thing: Any) -> dict[str, str]:
    """Returns the labels: volumes and networks have them elsewhere than containers."""
    labels = thing.attrs.get("Labels")
    if labels is None:
        labels = thing.attrs.get("Config", {}).get("Labels")
    return dict(labels or {})


def _is_disk(container: Any) -> bool:
    return labels_of(container).get(ROLE) == "disk"

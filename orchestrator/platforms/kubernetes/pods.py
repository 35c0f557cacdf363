"""Containers as pods: started, watched, stopped, removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from orchestrator.errors import NodeError, RunError, TierbenchError, UnavailableError
from orchestrator.platforms.common import registry
from orchestrator.platforms.common.carried import Carried
from orchestrator.platforms.common.taking_down import taken_down
from orchestrator.platforms.kubernetes import manifests, trouble
from orchestrator.platforms.kubernetes.commands import Commands
from orchestrator.platforms.kubernetes.connection import Thing
from orchestrator.platforms.kubernetes.errors import Refused, cluster_errors
from orchestrator.platforms.kubernetes.images import Images
from orchestrator.platforms.kubernetes.labels import (
    KIND,
    MARK,
    NAME,
    PLACEMENT,
    ROLE,
    annotation_of,
    name_of,
    object_name,
)
from orchestrator.platforms.kubernetes.manifests import CARRIER, GATE, MAIN
from orchestrator.platforms.kubernetes.ports import PortForward
from orchestrator.platforms.kubernetes.volumes import Volumes
from orchestrator.powers import Completed, Container, ContainerSpec, Standing
from orchestrator.system.clock import wait_until

# A pod waits this long for a machine, a volume or an image; or until the cluster has grown.
START_S, GROWN_S = 180.0, 900.0
_KILLED_S = 30.0
_LOOK_EVERY_S = 1.0
_KILL = ("sh", "-c", "kill -KILL -1")  # all of the pod but its first process and this shell


@dataclass
class _Files:
    """The carried files of a pod, and through which of its containers they go now."""

    carried: tuple[Carried, ...]
    inside: str = GATE


class Pods(Commands, Images, Volumes):
    """The part of `KubernetesPlatform` that runs containers."""

    start_s = START_S
    _files: dict[str, _Files]
    _ports: dict[str, list[PortForward]]
    _lost: set[str]  # containers whose machine was not ready when they were looked at last

    # -------------------------------------------------------------- up and down

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[Container]:
        with taken_down(lambda: self.remove(spec.name, spec.stop_timeout_s)):
            pod = self._started(spec)
            yield self._described(spec, pod)

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        started = self._clock.monotonic()
        with taken_down(lambda: self.remove(spec.name, 1)):
            self._started(spec)
            pod: Thing = {}

            def ended() -> bool:
                nonlocal pod
                with cluster_errors(f"running {spec.name}"):
                    pod = self._api.get(self._path("pods", object_name(spec.name)))
                return "running" not in trouble.main_state(pod)

            left_s = timeout_s - (self._clock.monotonic() - started)
            if not wait_until(ended, deadline_s=left_s, clock=self._clock, every_s=0.1):
                raise RunError(
                    f"{spec.name} did not end within {timeout_s:g} s",
                    advice="is the disk under the cache, or the tier's path, very busy?",
                    evidence=self.logs(spec.name, tail=20),
                )
            end = trouble.main_state(pod).get("terminated")
            if end is None:
                raise NodeError(f"{spec.name} is {trouble.in_words(pod)}")
            took_s = self._clock.monotonic() - started
            out = self.logs(spec.name)
        return Completed(spec.command, int(end["exitCode"]), out, "", took_s)

    def stand(self, spec: ContainerSpec) -> NoReturn:
        raise UnavailableError(
            f"{spec.name} cannot stay when this program ends: on Kubernetes all of a campaign goes "
            "with its namespace",
            advice="disks that stay need a Docker engine",
        )

    def standing(self) -> tuple[Standing, ...]:
        return ()

    def remove(self, container: str, timeout_s: float) -> None:
        name = object_name(container)
        path = self._path("pods", name)
        for port in self._ports.pop(container, []):
            port.close()
        try:
            state = self.state(container)
            if container in self._files and state != "gone" and container not in self._lost:
                self._take_files(container)
        finally:
            self._forget(container)
            # 0 only forgets the pod: its containers would still be ending. Of a machine that is
            # lost nobody would ever say that they have.
            grace_s = 0.0 if container in self._lost else max(1.0, timeout_s)
            self._remove_object("container", path, container, grace_s=grace_s)
            self._remove_object("secret", self._path("secrets", name), container)

    def stop(self, container: str, timeout_s: float) -> None:
        """A deadline that has passed ends a pod as its removal does, but it stays with its logs."""
        path = self._path("pods", object_name(container))

        def stopped() -> bool:
            return self.state(container) != "running"

        with cluster_errors(f"stopping {container}"):
            if timeout_s > 0 and not stopped():
                with suppress(TierbenchError):
                    self._take_files(container)
                self._api.change(path, {"spec": {"activeDeadlineSeconds": 1}})
            if wait_until(stopped, deadline_s=timeout_s, clock=self._clock, every_s=0.1):
                return
            with suppress(TierbenchError):
                for _ in self._begin(f"killing {container}", container, MAIN, _KILL):
                    pass
            if not wait_until(stopped, deadline_s=_KILLED_S, clock=self._clock, every_s=0.1):
                raise RunError(f"{container} still runs {_KILLED_S:g} s after it was killed")

    # -------------------------------------------------------------- starting

    def _started(self, spec: ContainerSpec) -> Thing:
        """Makes the pod, after removing a leftover of its name; returns it when `main` has begun.
        UnavailableError, in the cluster's own words, if it cannot begin."""
        name = object_name(spec.name)
        self._remove_object("container", self._path("pods", name), spec.name, grace_s=1)
        self._remove_object("secret", self._path("secrets", name), spec.name)
        with self._choosing(spec.placement) as spread:
            image = registry.name_of(spec.image)
            manifest = manifests.pod(
                spec, image, self._labels(), self._places, self.placing, spread
            )
            with cluster_errors(f"starting {spec.name}"):
                if manifests.secret_values(spec):
                    self._api.make(self._path("secrets"), manifests.secret(spec, self._labels()))
                self._api.make(self._path("pods"), manifest)
            if spec.placement:
                pod = self._awaited(spec, lambda pod: bool(pod["spec"].get("nodeName")))
                self._machine_names.setdefault(spec.placement, str(pod["spec"]["nodeName"]))
        self._files[spec.name] = _Files(
            tuple(
                Carried(
                    Path(place.mount.source),
                    place.path,
                    place.mount.read_only,
                    partial(self._through, spec.name),
                )
                for place in manifests.carried(spec)
            )
        )
        return self._await_begun(spec)

    def _await_begun(self, spec: ContainerSpec) -> Thing:
        has_files = bool(self._files[spec.name].carried)

        def has_begun(pod: Thing) -> bool:
            nonlocal has_files
            if has_files and _is_running(pod, "initContainerStatuses", GATE):
                self._first_files(spec.name)
                has_files = False
            return bool(set(trouble.main_state(pod)) & {"running", "terminated"})

        pod = self._awaited(spec, has_begun)
        self._files[spec.name].inside = CARRIER
        return pod

    def _awaited(self, spec: ContainerSpec, done: Callable[[Thing], bool]) -> Thing:
        """Returns the pod when it is `done`. UnavailableError when that is hopeless."""
        path, now = self._path("pods", object_name(spec.name)), self._clock.monotonic()
        next_look, patience = now + _LOOK_EVERY_S, trouble.Patience(now)
        while True:
            with cluster_errors(f"starting {spec.name}"):
                pod = self._api.get(path)
            if done(pod):
                return pod
            if pod.get("status", {}).get("phase") == "Failed":
                raise NodeError(f"{spec.name} was not started: {trouble.in_words(pod)}")
            now = self._clock.monotonic()
            if now >= next_look:
                self._raise_if_hopeless(spec, pod, patience)
                next_look = now + _LOOK_EVERY_S
            self._clock.sleep(0.1)

    def _raise_if_hopeless(
        self, spec: ContainerSpec, pod: Thing, patience: trouble.Patience
    ) -> None:
        claims = [
            volume["persistentVolumeClaim"]["claimName"]
            for volume in pod["spec"].get("volumes") or []
            if "persistentVolumeClaim" in volume
        ]
        events = [event for thing in (name_of(pod), *claims) for event in self._events(thing)]
        found = trouble.of_pod(pod, events)
        limit_s = GROWN_S if trouble.grows(events) else self.start_s
        if not patience.ends(self._clock.monotonic(), found, limit_s):
            return
        said = found.text if found else trouble.in_words(pod)
        raise UnavailableError(
            f"{spec.name} does not start: {said}",
            advice=found.advice if found else "look at the machine's kubelet",
            evidence="\n".join(f"{one.get('reason')}: {one.get('message')}" for one in events),
        )

    def _described(self, spec: ContainerSpec, pod: Thing) -> Container:
        state = self.state(spec.name)
        if state != "running":
            raise NodeError(
                f"{spec.name} stopped as soon as it was started: {state}",
                evidence=self.logs(spec.name, tail=30),
            )
        path = self._path("pods", object_name(spec.name))
        ports = self._ports.setdefault(spec.name, [])
        for port, local in spec.ports.items():
            ports.append(PortForward(self._api, path, port, local, spec.address or ""))
        local_ports = {port: one.local_port for port, one in zip(spec.ports, ports, strict=True)}
        runtime_id = _status_of_main(pod).get("containerID", "").rpartition("//")[2]
        return Container(spec.name, runtime_id, None, spec.address, local_ports)

    # -------------------------------------------------------------- carried files

    def _through(
        self, container: str, argv: Sequence[str], data: bytes, out: Callable[[bytes], None]
    ) -> None:
        self._pipe(container, self._files[container].inside, argv, data, out)

    def _first_files(self, container: str) -> None:
        self._put_files(container)
        self._through(container, manifests.OPEN_GATE, b"", lambda _data: None)

    def _put_files(self, container: str) -> None:
        for one in self._files[container].carried if container in self._files else ():
            one.put()

    def _take_files(self, container: str) -> None:
        for one in self._files[container].carried if container in self._files else ():
            one.take()

    # -------------------------------------------------------------- looking

    def _pod(self, container: str) -> Thing | None:
        with cluster_errors(f"looking at {container}"):
            return self._api.found(self._path("pods", object_name(container)))

    def state(self, container: str) -> str:
        pod = self._pod(container)
        lost = self._of_machine(pod) if pod and trouble.may_be_lost(pod) else ""
        (self._lost.add if lost else self._lost.discard)(container)
        return lost or trouble.in_words(pod)

    def image_of(self, container: str) -> str:
        pod = self._pod(container)
        return str(_status_of_main(pod).get("imageID") or "") if pod else ""

    def logs(self, container: str, tail: int | None = None) -> str:
        if container in self._lost:
            return ""  # its machine would be waited for
        path = self._path("pods", f"{object_name(container)}/log")
        query = {"container": MAIN, **({"tailLines": tail} if tail else {})}
        with cluster_errors(f"reading the log of {container}"):
            try:
                return self._api.text(path, **query)
            except Refused as error:
                if error.status in (400, 404):  # not begun yet, or gone
                    return ""
                raise

    def running_as(self, role: str) -> tuple[str, ...]:
        with cluster_errors("looking for containers of ours"):
            pods = self._api.listed(self._path("pods"), f"{MARK},{ROLE}={role}")
        running = [pod for pod in pods if trouble.in_words(pod) == "running"]
        return tuple(annotation_of(pod, NAME) or name_of(pod) for pod in running)

    def _exec_beside(self, placement: str, argv: Sequence[str]) -> None:
        """Runs a command in the server of a disk on the machine of a placement, if one runs.
        RunError if it fails."""
        place = f",{PLACEMENT}={placement}" if placement else f",!{KIND}"
        with cluster_errors("looking for the disk's server"):
            pods = self._api.listed(self._path("pods"), f"{MARK},{ROLE}=disk{place}")
        for pod in pods[:1]:
            if trouble.in_words(pod) == "running":
                self._pipe(annotation_of(pod, NAME), MAIN, argv, b"", lambda _data: None)


def _is_running(pod: Thing, statuses: str, name: str) -> bool:
    found = [one for one in pod.get("status", {}).get(statuses) or [] if one["name"] == name]
    return bool(found) and "running" in (found[0].get("state") or {})


def _status_of_main(pod: Thing) -> Thing:
    statuses = pod.get("status", {}).get("containerStatuses") or []
    return next((one for one in statuses if one["name"] == MAIN), {})

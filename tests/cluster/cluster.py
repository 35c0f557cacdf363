"""A cluster of one machine: a control plane and nodes, each in namespaces of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import kubernetes
import urllib3

from tests import ROOT
from tests.cluster import images, leftovers, programs, settings
from tests.cluster.settings import CONTROL, FOLDER, Node

HERE = Path(__file__).resolve().parent
LOCK = Path("/run/lock/tierbench-test-cluster")
_READY_S = 120.0
_DETACHED = ("setsid", "--fork")
_NAMESPACES = ("--mount", "--net", "--pid", "--ipc")
_NEW_NAMESPACES = (
    *_DETACHED,
    *("unshare", *_NAMESPACES, "--uts", "--fork", "--kill-child", "--mount-proc"),
)


class NotReady(Exception):
    """A part of the cluster did not get ready, with the ends of the logs."""


@dataclass(frozen=True)
class Cluster:
    """A running cluster.

    `kubeconfig` and `api` have the administrator's rights. `held` is the lock by which others know
    that the cluster is in use.
    """

    nodes: list[Node]
    binaries: Path
    kubeconfig: Path
    api: kubernetes.client.ApiClient
    held: IO[str]

    def load(self, *names: str) -> None:
        """Brings images of this machine's Docker engine to every node."""
        if not names:
            return
        with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
            archive = Path(scratch) / "images.tar"
            images.save(names, archive)
            self._import(archive)

    def kill(self, node: Node) -> None:
        """Ends a node at once, with all that runs on it; its files stay."""
        leftovers.end(node.name)

    def again(self, node: Node) -> None:
        """Starts a node that was killed; returns before Kubernetes has seen that."""
        _in_namespaces(
            "control", "--net", "ip", "link", "delete", _port(node), check=False
        )
        self._start_node(node)

    def ready(self) -> list[str]:
        """The names of the nodes that Kubernetes calls Ready."""
        core: Any = kubernetes.client.CoreV1Api(self.api)
        listed = core.list_node().items
        return [
            str(node.metadata.name)
            for node in listed
            if any(
                one.type == "Ready" and one.status == "True"
                for one in node.status.conditions
            )
        ]

    def down(self) -> None:
        """Ends everything, and leaves nothing."""
        self.api.close()
        leftovers.remove()
        self.held.close()

    def _start(self, by_hand: bool) -> None:
        _network_of_nodes(self)
        for node in self.nodes:
            settings.write_node(node, self.binaries)
            _cgroup(f"{settings.CGROUP}/{node.name}")
            self._start_node(node)
        _until(self._answers, "the API server does not answer")
        _until(lambda: len(self.ready()) == len(self.nodes), "the nodes are not Ready")
        pause = FOLDER / "pause.tar"
        images.of_program(self.binaries / "pause", settings.PAUSE, pause)
        self._import(pause)
        _define_snapshots(self.api, self.binaries / "definitions")
        self._start_provisioner(by_hand)
        _until(self._has_account, "the default service account is not made")

    def _start_node(self, node: Node) -> None:
        where = {"NAME": node.name, "ADDRESS": node.address, "CONTROL": CONTROL}
        where |= {"STATE": str(node.folder), "PKI": str(FOLDER / "pki")}
        self.start_namespaces(node.name, "node.sh", where)
        first = str(leftovers.first_process(node.name))
        _attach(_port(node), first, "eth0")

    def start_namespaces(
        self, name: str, script: str, environment: dict[str, str]
    ) -> None:
        """Starts `script` as the first process of new namespaces, and waits until it is there."""
        path = f"{self.binaries}:{os.environ['PATH']}"
        env = {
            "PATH": path,
            leftovers.MARK: name,
            "ROUTES": settings.routes(self.nodes),
        }
        log = (FOLDER / "log" / f"{name}.log").open("ab")
        with log:
            subprocess.run(
                [*_NEW_NAMESPACES, "bash", str(HERE / script)],
                env={**os.environ, **env, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=True,
            )
        _until(
            lambda: leftovers.first_process(name) is not None, f"{name} does not start"
        )

    def _start_provisioner(self, by_hand: bool) -> None:
        """By hand, the lock is the provisioner's: it is what runs until the cluster is down."""
        places = (str(self.kubeconfig), str(FOLDER / "disks"))
        with (FOLDER / "log" / "provisioner.log").open("ab") as log:
            subprocess.run(
                [
                    *_DETACHED,
                    sys.executable,
                    "-m",
                    "tests.cluster.provisioner",
                    *places,
                ],
                cwd=ROOT,
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT),
                    leftovers.MARK: "provisioner",
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[self.held.fileno()] if by_hand else [],
                check=True,
            )

    def _import(self, archive: Path) -> None:
        """All nodes at once: each has a store of its own."""
        command = (
            *_NAMESPACES,
            "ctr",
            "--namespace",
            "k8s.io",
            "images",
            "import",
            str(archive),
        )
        running = [
            subprocess.Popen(
                [
                    "nsenter",
                    "--target",
                    str(leftovers.first_process(node.name)),
                    *command,
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for node in self.nodes
        ]
        failed = [one.communicate()[1] for one in running]
        for one, error in zip(running, failed, strict=True):
            if one.returncode != 0:
                raise NotReady(f"an image could not be imported: {error}")

    def _answers(self) -> bool:
        return bool(kubernetes.client.VersionApi(self.api).get_code().git_version)

    def _has_account(self) -> bool:
        core = kubernetes.client.CoreV1Api(self.api)
        return bool(core.read_namespaced_service_account("default", "default"))


def up(count: int, by_hand: bool = False) -> Cluster:
    """Starts a cluster of `count` nodes; removes first what a killed run has left.

    programs.Unavailable where a cluster is in use or this machine lacks something.
    """
    if why := programs.missing():
        raise programs.Unavailable(why)
    held = LOCK.open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        raise programs.Unavailable(
            "a cluster is in use on this machine: `python -m tests.cluster down` ends it"
        ) from None
    leftovers.remove()
    for place in leftovers.MOUNT_POINTS:
        place.mkdir(parents=True, exist_ok=True)
    nodes = [Node(index) for index in range(count)]
    kubeconfig = settings.write_control(nodes)
    api = kubernetes.config.new_client_from_config(str(kubeconfig))
    cluster = Cluster(nodes, programs.folder(), kubeconfig, api, held)
    try:
        cluster._start(by_hand)
    except BaseException:
        cluster.down()
        raise
    return cluster


def _network_of_nodes(cluster: Cluster) -> None:
    """Starts the control plane, whose bridge it is, and connects this machine to it."""
    _cgroup(settings.CGROUP)
    where = {"STATE": str(FOLDER), "ADDRESS": CONTROL}
    cluster.start_namespaces("control", "control.sh", where)

    def there() -> bool:
        return _in_namespaces(
            "control", "--net", "ip", "link", "show", "nodes", check=False
        )

    _until(there, "the control plane makes no network")
    own = leftovers.INTERFACE
    _attach("port-outside", str(os.getpid()), own)
    for arguments in (
        ("address", "add", f"{settings.OUTSIDE}/24", "dev", own),
        ("link", "set", own, "up"),
        ("route", "replace", settings.PODS, "via", CONTROL),
    ):
        subprocess.run(["ip", *arguments], check=True)


def _port(node: Node) -> str:
    return f"port-{node.index}"


def _attach(port: str, process: str, name: str) -> None:
    """Gives the namespaces of `process` an interface `name` at the nodes' bridge."""
    control = str(leftovers.first_process("control"))
    peer = ("type", "veth", "peer", "name", name, "netns", process)
    subprocess.run(["ip", "link", "add", port, "netns", control, *peer], check=True)
    _in_namespaces(
        "control", "--net", "ip", "link", "set", port, "master", "nodes", "up"
    )


def _in_namespaces(name: str, which: str, *command: str, check: bool = True) -> bool:
    """Runs a command in namespaces of `name`; whether it succeeded."""
    target = str(leftovers.first_process(name))
    done = subprocess.run(
        ["nsenter", "--target", target, which, *command],
        capture_output=not check,
        check=check,
    )
    return done.returncode == 0


def _cgroup(name: str) -> None:
    """Makes the group in every hierarchy; a new one may use no processor until it is told which."""
    for hierarchy in leftovers.CGROUPS.iterdir():
        with contextlib.suppress(OSError):  # not a hierarchy
            (hierarchy / name).mkdir(exist_ok=True)
    for file in ("cpuset.cpus", "cpuset.mems"):
        top = leftovers.CGROUPS / "cpuset"
        (top / name / file).write_text((top / file).read_text())


def _define_snapshots(api: kubernetes.client.ApiClient, folder: Path) -> None:
    for file in sorted(folder.glob("snapshot.storage.k8s.io_*.yaml")):
        kubernetes.utils.create_from_yaml(api, str(file))


def _until(done: Callable[[], bool], otherwise: str) -> None:
    """Errors of the API mean no: it may be on its way up."""
    limit = time.monotonic() + _READY_S
    while True:
        with contextlib.suppress(
            kubernetes.client.ApiException, OSError, urllib3.exceptions.HTTPError
        ):
            if done():
                return
        if time.monotonic() > limit:
            raise NotReady(f"{otherwise} after {_READY_S:.0f} s\n{_log_ends()}")
        time.sleep(0.1)


def _log_ends() -> str:
    """The last lines of every log of the cluster."""
    ends = []
    for log in sorted(FOLDER.glob("**/log/*.log")):
        lines = log.read_text(errors="replace").splitlines()[-5:]
        ends.append("\n".join([f"--- {log.relative_to(FOLDER)}", *lines]))
    return "\n".join(ends)

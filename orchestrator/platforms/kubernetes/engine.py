"""The Kubernetes platform: a campaign is a namespace, a container is a pod.

Everything made here carries the labels `tierbench=1` and its campaign's. Docs: docs/KUBERNETES.md.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from orchestrator.errors import RunError
from orchestrator.model import Placing
from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.platforms.common.findings import Finding
from orchestrator.platforms.kubernetes import examination, requests
from orchestrator.platforms.kubernetes.connection import Api, Thing
from orchestrator.platforms.kubernetes.errors import cluster_errors
from orchestrator.platforms.kubernetes.guard import NAMESPACES, Guard
from orchestrator.platforms.kubernetes.labels import name_of
from orchestrator.platforms.kubernetes.pods import Pods
from orchestrator.platforms.kubernetes.volume_manifests import size_bytes
from orchestrator.powers import Clock, Conversation, Machine, MachineFacts
from orchestrator.system import at_once

_PODS = "/api/v1/pods"  # of all namespaces
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_FOLDER = Path("/var/lib/tierbench")
_ROOT = Path(__file__).resolve().parents[3]


class KubernetesPlatform(Pods):
    """The `Platform` protocol on a Kubernetes cluster, and the `Claims` power. UnavailableError if
    none is configured or none answers.

    `campaign` is on everything that it makes; `guard` keeps a second campaign out.
    """

    name = "kubernetes"

    def __init__(self, clock: Clock, placing: Placing | None = None) -> None:
        self._clock = clock
        self.placing = placing or Placing()
        self.campaign = secrets.token_hex(3)
        self._files, self._ports, self._lost = {}, {}, set()
        self._places, self._machine_names, self._kept = {}, {}, set()
        self._scheduling = threading.Lock()
        self._machines: dict[str, AgentMachine] = {}
        self._machine_by_container: dict[str, Machine] = {}
        self._api = Api(clock, self.placing.context)
        with cluster_errors(f"connecting to {self._api.host}"):
            self._version = self._api.get("/version")
        self._usable_nodes()
        self.guard = Guard(self._api, clock, self.campaign)

    def answers(self) -> bool:
        return self._api.answers()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self.guard.held():
            self._bring_pull_secrets()
            try:
                yield
            finally:
                self._close_agents()

    def sweep_between_runs(self) -> tuple[str, ...]:
        self._close_agents()
        removed = super().sweep_between_runs()
        self._usable_nodes()
        return removed

    def _close_agents(self) -> None:
        """A later question to a machine starts its agent again."""
        at_once.each(AgentMachine.close, self._machines.values())

    def _bring_pull_secrets(self) -> None:
        """Copies them from the context's namespace: pods can only use those of their own."""
        for name in self.placing.image_pull_secrets:
            with cluster_errors(f"reading the pull secret {name}"):
                found = self._api.get(f"{NAMESPACES}/{self._api.namespace}/secrets/{name}")
                copy = {"type": found["type"], "data": found.get("data") or {}}
                self._api.make(self._path("secrets"), {**copy, "metadata": {"name": name}})

    def other_campaign(self) -> str | None:
        return self.guard.other()

    def facts(self) -> dict[str, Any]:
        """Which cluster it is: context, address, identity. Versions of it, and of its first
        machine: they are of one node pool."""
        nodes = self._usable_nodes()
        info = nodes[0]["status"]["nodeInfo"] if nodes else {}
        return {
            "Name": self._api.context,
            "Host": self._api.host,
            "ID": self.engine_id(),
            "ServerVersion": self._version.get("gitVersion"),
            "Driver": info.get("containerRuntimeVersion"),
            "KernelVersion": info.get("kernelVersion"),
            "OperatingSystem": info.get("osImage"),
            "KubeletVersion": info.get("kubeletVersion"),
            "Machines": len(nodes),
        }

    def examine(self) -> tuple[Finding, ...]:
        """Returns what the cluster offers and lacks; makes nothing."""
        version = str(self._version.get("gitVersion"))
        return tuple(examination.examine(self._api, version, self._usable_nodes()))

    def machines(self) -> tuple[Machine, ...]:
        """Those that were there when the cluster was last asked, as before each new placement."""
        return tuple(map(self._machine, self._found))

    def machine_of(self, container: str) -> Machine:
        """A pod never moves, so the cluster is asked once."""
        if container not in self._machine_by_container:
            pod = self._pod(container) or {}
            name = str(pod.get("spec", {}).get("nodeName") or "")
            if name and name not in self._machines:  # the cluster may have grown for this pod
                self._usable_nodes()
                self.machines()
            if name not in self._machines:
                raise RunError(f"{container}: no machine is known that runs it")
            self._machine_by_container[container] = self._machines[name]
        return self._machine_by_container[container]

    def _machine(self, node: Thing) -> Machine:
        name = name_of(node)
        if name not in self._machines:
            placement = f"agent-{name}"
            self._machine_names[placement] = name

            def talking() -> AbstractContextManager[Conversation]:
                image = own_images.need(_ROOT, agent.IMAGE, self)
                container = f"{self._namespace}-agent-{name}"
                return agent.conversation(self, agent.container(container, image, placement))

            self._machines.setdefault(name, AgentMachine(name, talking, self._clock, _facts(node)))
        return self._machines[name]

    def free_cpus(self, nodes: int) -> float:
        machines = self._machines_of(nodes)
        with cluster_errors("looking at what pods ask for"):
            return requests.each(nodes, machines, self._api.listed(_PODS))

    def folder(self, cache: Path) -> Path:
        return _FOLDER

    def _forget(self, container: str) -> None:
        self._files.pop(container, None)
        self._machine_by_container.pop(container, None)
        for port in self._ports.pop(container, []):
            port.close()


def _facts(node: Thing) -> MachineFacts:
    info, capacity = node["status"]["nodeInfo"], node["status"]["capacity"]
    return MachineFacts(
        hostname=name_of(node),
        kernel=str(info.get("kernelVersion", "")),
        system=str(info.get("osImage", "")),
        cpus=int(capacity.get("cpu", 1)),
        cpu_model="",
        memory_bytes=size_bytes(str(capacity.get("memory", "0"))),
        instance_type=str((node["metadata"].get("labels") or {}).get(_INSTANCE_TYPE, "")),
    )

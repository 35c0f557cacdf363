"""The Kubernetes platform: a campaign is a namespace, a container is a pod.

Everything made here carries the labels `tierbench=1` and its campaign's. Docs: docs/KUBERNETES.md.
"""

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from orchestrator.errors import UnavailableError
from orchestrator.extensions.kubernetes import (
    campaigns,
    examination,
    guard,
    manifests,
    pods,
)
from orchestrator.extensions.kubernetes.connection import (
    Api,
    Refused,
    Thing,
    cluster_errors,
)
from orchestrator.extensions.kubernetes.placing import Placement, usable
from orchestrator.extensions.kubernetes.space import Space, address, label_of, name_of
from orchestrator.extensions.kubernetes.volumes import Volumes
from orchestrator.model import Placing
from orchestrator.platforms.common import agent, lifecycle, shared_network
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.powers import (
    Clock,
    ContainerSpec,
    Conversation,
    Finding,
    Machine,
    MachineFacts,
    PlatformAbilities,
)
from orchestrator.system import at_once

_PODS = "/api/v1/pods"  # pods of all namespaces
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_FOLDER = Path("/var/lib/tierbench")


class KubernetesPlatform:
    """The `Platform` protocol on a Kubernetes cluster; its volumes are rented by `claims`.
    UnavailableError if none is configured or none answers."""

    name = "kubernetes"
    campaign: str = lifecycle.passed_on("space", "campaign")

    def __init__(
        self, clock: Clock, placing: Placing | None = None, api: type[Api] = Api
    ) -> None:
        self._clock = clock
        placing = placing or Placing()
        self._agents: dict[str, AgentMachine] = {}
        self._api = api(clock, placing.context)
        with cluster_errors(f"connecting to {self._api.host}"):
            self._version = self._api.get("/version")
        given = placing.namespace or ""
        self.space = Space(self._api, clock, secrets.token_hex(3), given)
        self.placement = Placement(self.space, placing)
        self.placement.find_machines()
        self.guard = guard.LeaseGuard(self.space, self._within, lifecycle.rent_s())
        self._leftovers = campaigns.ClusterLeftovers(self.space)
        self.images = pods.ClusterImages(self.placement, clock)
        claims: dict[str, str] = {}  # volume → the claim by which pods use it
        self.pods = pods.Pods(self.space, self.placement, claims, self._machine_named)
        unmounted = self.pods.await_unmounted
        self.claims = Volumes(
            self.space, self.placement, self._leftovers, claims, unmounted
        )
        self.answers = self._api.answering.answers
        self.certificates = self._api.certificates
        self.container = self.pods.pod
        self.find_containers = self.pods.find
        self.running = self.pods.running
        self.once = self.pods.once
        self.network = self.claims.network
        self.volume = self.claims.volume

    @property
    def abilities(self) -> PlatformAbilities:
        return PlatformAbilities(
            open_to=self.open_to,
            free_cpus=self.free_cpus,
            claims=self.claims,
            sweep_between_runs=self.sweep_between_runs,
            certificates=self.certificates,
            examine=self.examine,
            # The network is shared for one command (`once`). Lasting containers have theirs on the
            # machine.
            shared_network=shared_network.SHARED,
        )

    @contextmanager
    def _within(self) -> Iterator[None]:
        """What is done in the campaign's namespace while it is there."""
        # Pods can only use pull secrets of their own namespace.
        if not self.space.given:
            for name in self.placement.placing.image_pull_secrets:
                self._copy_secret(name)
        try:
            yield
        finally:
            self._close_agents()

    def _copy_secret(self, name: str) -> None:
        with cluster_errors(f"reading the pull secret {name}"):
            secret = self._api.get(address("secret", name, self._api.namespace))
            copy = {
                "type": secret["type"],
                "data": secret.get("data") or {},
                "metadata": {"name": name},
            }
            self.space.make("secret", copy, is_swept=False)

    def _close_agents(self) -> None:
        """A later question to a machine starts its agent again."""
        at_once.each(AgentMachine.close, self._agents.values())

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        if only_list:
            return self._leftovers.listed(self.guard.other(), self.pods.forget)
        # A whole sweep alone takes the volumes of data sets: between runs they stay.
        self.space.kept.clear()
        return self.sweep_between_runs()

    def sweep_between_runs(self) -> tuple[str, ...]:
        self._close_agents()
        removed = self._leftovers.sweep(self.guard.other(), self.pods.forget)
        self.placement.find_machines()
        return removed

    def facts(self) -> dict[str, Any]:
        """Which cluster it is: context, address, identity. Versions of it, and of its first
        machine."""
        nodes = self.placement.known
        info: dict[str, Any] = {}
        # Machines of one node pool are alike.
        if nodes:
            info = nodes[0]["status"]["nodeInfo"]
        # A cluster has no id of its own: that of its oldest namespace never changes.
        identity: str | None = None
        with cluster_errors("reading the cluster's identity"), suppress(Refused):
            oldest = self._api.get(address("namespace", "kube-system"))
            identity = str(oldest["metadata"]["uid"])
        return {
            "Name": self._api.context,
            "Host": self._api.host,
            "ID": identity,
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
        machines = self.placement.find_machines()
        return tuple(
            examination.examine(self._api, version, machines, self.space.given)
        )

    def machines(self) -> tuple[Machine, ...]:
        """The machines when the cluster was last asked, which it is before each new placement."""
        return tuple(self._agent(node) for node in self.placement.known)

    def machines_of_nodes(self) -> tuple[Machine, ...]:
        chosen = self.placement.placing
        nodes = [node for node in self.placement.known if usable(node, chosen)]
        return tuple(self._agent(node) for node in nodes)

    def _machine_named(self, name: str) -> Machine | None:
        if name not in self._agents:  # the cluster may have grown
            self.placement.find_machines()
            self.machines()
        return self._agents.get(name)

    def _agent(self, node: Thing) -> AgentMachine:
        name = name_of(node)
        if name not in self._agents:
            placement = f"agent-{name}"
            # The agent reads just this machine: its placement is not the scheduler's to choose.
            self.placement.machine_names[placement] = name

            def talking() -> AbstractContextManager[Conversation]:
                return agent.conversation(
                    self, f"{self.space.namespace}-agent-{name}", placement
                )

            self._agents.setdefault(
                name, AgentMachine(name, talking, self._clock, _facts(node))
            )
        return self._agents[name]

    def free_cpus(self, nodes: int) -> float:
        machines = self.placement.machines_of(nodes)
        if self.space.given:  # all that may be seen
            return examination.free_cpus(
                nodes, machines, self.space.listed("container")
            )
        with cluster_errors("looking at what pods ask for"):
            return examination.free_cpus(nodes, machines, self._api.listed(_PODS))

    def open_to(self) -> str:
        return "the addresses of its pods"

    def folder(self, cache: Path) -> Path:
        return _FOLDER

    def stand(self, spec: ContainerSpec) -> NoReturn:
        raise UnavailableError(
            f"{spec.name} cannot stay when this program ends. On Kubernetes a "
            "campaign's namespace is removed with all that is in it",
            advice="disks that stay need a Docker engine",
        )


def _facts(node: Thing) -> MachineFacts:
    info = node["status"]["nodeInfo"]
    capacity = node["status"]["capacity"]
    return MachineFacts(
        hostname=name_of(node),
        kernel=str(info.get("kernelVersion", "")),
        system=str(info.get("osImage", "")),
        cpus=int(capacity.get("cpu", 1)),
        cpu_model="",
        memory_bytes=manifests.size_bytes(str(capacity.get("memory", "0"))),
        instance_type=label_of(node, _INSTANCE_TYPE),
    )

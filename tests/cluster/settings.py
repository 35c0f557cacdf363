"""Addresses of a test cluster, and the settings of its programs, as files in its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.pki import Authority

# One cluster at a time: its addresses and its folder are fixed. So whoever comes next finds what a
# killed run left behind.
FOLDER = Path("/var/lib/tierbench-test-cluster")
CONTROL = "10.250.0.1"  # the control plane, gateway of the nodes, DNS of the pods
OUTSIDE = "10.250.0.2"  # this machine, on the nodes' network
PODS = "10.244.0.0/16"
CGROUP = "tierbench-test-cluster"
PAUSE = "pause.test/pause:1"


@dataclass(frozen=True)
class Node:
    """One node of the cluster: `node-<index>`, in the zone `zone-<index>`."""

    index: int

    @property
    def name(self) -> str:
        return f"node-{self.index}"

    @property
    def address(self) -> str:
        return f"10.250.0.{10 + self.index}"

    @property
    def subnet(self) -> str:
        """Of its pods."""
        return f"10.244.{self.index}.0/24"

    @property
    def folder(self) -> Path:
        return FOLDER / self.name


def routes(nodes: list[Node]) -> str:
    """Where the pods of each node are, as the scripts in the namespaces take it."""
    return " ".join(f"{node.subnet}={node.address}" for node in nodes)


def write_control(nodes: list[Node]) -> Path:
    """Writes what the control plane reads: certificates and kubeconfigs of all, the Corefile.

    Returns the administrator's kubeconfig.
    """
    pki = FOLDER / "pki"
    for folder in (pki, FOLDER / "log", FOLDER / "etcd"):
        folder.mkdir(parents=True)
    (FOLDER / "etcd").chmod(0o700)
    authority = Authority.make(pki, f"https://{CONTROL}:6443")
    service = "kubernetes.default.svc"
    names = ("127.0.0.1", CONTROL, "10.96.0.1", "localhost", "kubernetes", service)
    authority.sign("apiserver", "kube-apiserver", names=names)
    authority.user("admin", "admin", group="system:masters")
    authority.user("controllers", "system:kube-controller-manager")
    authority.user("scheduler", "system:kube-scheduler")
    authority.user("proxy", "system:kube-proxy")
    for node in nodes:
        user = f"system:node:{node.name}"
        authority.user(node.name, user, "system:nodes", (node.name, node.address))
    (FOLDER / "Corefile").write_text(
        f""".:53 {{
    bind {CONTROL}
    errors
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {pki}/admin.kubeconfig test
        ttl 5
    }}
    cache 5
}}
"""
    )
    return pki / "admin.kubeconfig"


def write_node(node: Node, binaries: Path) -> None:
    """Writes what the programs of a node read."""
    for name in (
        "log",
        "kubelet",
        "containerd",
        "cni",
        "podlogs",
        "machine",
        "settings",
    ):
        (node.folder / name).mkdir(parents=True, exist_ok=True)
    (node.folder / "resolv.conf").write_text("options ndots:1\n")
    (node.folder / "containerd.toml").write_text(_containerd(node, binaries))
    for file, content in (
        ("cni/10-bridge.conflist", _network(node)),
        ("kubelet.json", _kubelet(node)),
        ("proxy.json", _proxy(node)),
    ):
        (node.folder / file).write_text(json.dumps(content, indent=1))


def _containerd(node: Node, binaries: Path) -> str:
    """Without restrict_oom_score_adj no pod starts where CAP_SYS_RESOURCE is missing."""
    unused = ("aufs", "btrfs", "devmapper", "zfs")
    disabled = [f"io.containerd.snapshotter.v1.{name}" for name in unused]
    disabled += [
        "io.containerd.internal.v1.opt",
        "io.containerd.tracing.processor.v1.otlp",
    ]
    plugin = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""version = 2
root = "{node.folder}/containerd"
state = "/run/containerd"
disabled_plugins = {json.dumps(disabled)}
[grpc]
  address = "/run/containerd/containerd.sock"
[{plugin}]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
  disable_hugetlb_controller = true
[{plugin}.cni]
  bin_dir = "{binaries}/cni"
  conf_dir = "{node.folder}/cni"
[{plugin}.containerd]
  snapshotter = "overlayfs"
[{plugin}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[{plugin}.containerd.runtimes.runc.options]
  SystemdCgroup = false
"""


def _network(node: Node) -> object:
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": node.subnet}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "bridge", "plugins": [bridge, ports]}


def _kubelet(node: Node) -> object:
    pki = FOLDER / "pki"
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{pki}/{node.name}.crt",
        "tlsPrivateKeyFile": f"{pki}/{node.name}.key",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}/{node.name}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDomain": "cluster.local",
        "clusterDNS": [CONTROL],
        "resolvConf": f"{node.folder}/resolv.conf",
        # An image that the kubelet collects cannot be pulled again here.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        "oomScoreAdj": 0,
        "maxOpenFiles": 20000,
        "nodeStatusUpdateFrequency": "5s",
        "syncFrequency": "10s",
        "makeIPTablesUtilChains": False,
    }


def _proxy(node: Node) -> object:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clusterCIDR": PODS,
        "hostnameOverride": node.name,
        "clientConnection": {"kubeconfig": f"{FOLDER}/pki/proxy.kubeconfig"},
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        "metricsBindAddress": "127.0.0.1:10249",
        "healthzBindAddress": "127.0.0.1:10256",
    }

"""Which cluster is used, and who we are there: by the kubeconfig, else the one that a pod is in."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes.client.configuration import Configuration
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import InClusterConfigLoader
from kubernetes.config.kube_config import KubeConfigMerger, load_kube_config

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.texts.prose import listed


@dataclass(frozen=True)
class ChosenCluster:
    """How a cluster is reached. `context`: of the kubeconfig; "" for the cluster of our own pod."""

    configuration: Configuration
    context: str
    namespace: str


def chosen_cluster(context: str | None, of_pod: Path) -> ChosenCluster:
    """The cluster of KUBECONFIG or ~/.kube/config, by this context or the current one. In a pod, if
    there is no usable one and no context was named, the pod's own cluster.

    UnavailableError if there is none, UsageError for a context that does not exist."""
    configuration = Configuration()
    try:
        contexts, current = _contexts()
    except (ConfigException, OSError) as error:
        raise _no_cluster(error) from error
    if context is not None and context not in contexts:
        raise _no_such_context(context, sorted(contexts))
    name = str(context or current)
    try:
        load_kube_config(_files(), context or current, configuration)
        namespace = contexts[name].get("namespace") or "default"
        return ChosenCluster(configuration, name, namespace)
    except (ConfigException, OSError, KeyError) as error:
        if context is not None:
            raise UnavailableError(
                f"the context {context!r} cannot be used: {error}",
                advice=f"`kubectl --context {context} cluster-info` must work",
            ) from error
        reason = error
    # A pod's own cluster is meant if there is no usable kubeconfig.
    try:
        loader = InClusterConfigLoader(str(of_pod / "token"), str(of_pod / "ca.crt"))
        loader.load_and_set(configuration)
    except (ConfigException, OSError):
        raise _no_cluster(reason) from reason
    namespace = "default"
    with suppress(OSError):
        namespace = (of_pod / "namespace").read_text(encoding="utf-8").strip()
    return ChosenCluster(configuration, "", namespace)


def _no_cluster(error: Exception) -> UnavailableError:
    return UnavailableError(
        f"no Kubernetes cluster is configured here: {error}",
        advice=(
            "set KUBECONFIG, or make ~/.kube/config as for kubectl. `az aks "
            "get-credentials`, `aws eks update-kubeconfig` and `gcloud container clusters "
            "get-credentials` write it. Choose the context with `kubectl config "
            "use-context`"
        ),
    )


def _no_such_context(context: str, contexts: list[str]) -> UsageError:
    return UsageError(
        f"the kubeconfig has no context named {context!r}",
        advice=f"it has {listed(contexts) or 'none'}; `context` under `kubernetes` in the "
        "profile, and KUBECONFIG, decide which cluster is used",
    )


def _contexts() -> tuple[dict[str, Mapping[str, Any]], str | None]:
    merged = KubeConfigMerger(_files()).config
    if merged is None:
        return {}, None
    contexts: dict[str, Mapping[str, Any]] = {}
    for entry in merged.value["contexts"]:
        contexts[str(entry.value["name"])] = entry.value.get("context") or {}
    return contexts, merged.value.get("current-context")


def _files() -> str:
    """The kubeconfig's files."""
    # The client library reads the variable only when it is imported.
    return os.environ.get("KUBECONFIG") or "~/.kube/config"

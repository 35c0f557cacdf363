"""A StorageClass as Kubernetes takes it. Pure."""

from typing import Any

from orchestrator.keys.shipped_yaml import filled, shipped
from orchestrator.keys.yaml_text import written
from orchestrator.tier import ClassWanted


def content(wanted: ClassWanted) -> dict[str, Any]:
    """The class as Kubernetes takes it."""
    values = {
        "name": wanted.name,
        "provisioner": wanted.provisioner,
        "parameters": dict(wanted.parameters),
    }
    template = shipped(__package__, "storage_class.yaml")
    return filled(template, values) or {}


def manifest(wanted: ClassWanted) -> str:
    """The class as a file for `kubectl apply -f`."""
    return written(content(wanted))

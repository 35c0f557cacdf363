"""What docs/recipes/yugabytedb-cluster.md has kubectl fetch of a cluster of YugabyteDB's chart.

Method: two namespaces with the secret that the chart makes, by its `templates/service.yaml` of
yugabyte/charts at 1349b41; the chart itself is not installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import certificates
from tests.cluster.cluster import Cluster
from tests.documented import examples

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl"),
]

RECIPE = "recipes/yugabytedb-cluster.md"
CHART = "From YugabyteDB's Helm chart"
SPACES = ("yb-p15", "yb-v2")
SECRET = "yugabyte-tls-client-cert"


@pytest.fixture
def authorities(core: Any, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The certificate of the authority of each namespace."""
    by_space: dict[str, str] = {}
    try:
        for space in SPACES:
            folder = tmp_path / space
            folder.mkdir()
            by_space[space] = certificates.authority(folder).read_text()
            encoded = b64encode(by_space[space].encode()).decode()
            core.create_namespace({"metadata": {"name": space}})
            secret = {"metadata": {"name": SECRET}, "data": {"root.crt": encoded}}
            core.create_namespaced_secret(space, secret)
        yield by_space
    finally:
        for space in by_space:
            core.delete_namespace(space)


def test_the_authority_of_each_cluster_is_fetched_as_documented(
    authorities: dict[str, str], cluster: Cluster, tmp_path: Path
) -> None:
    script = examples(RECIPE, CHART, "sh")[0]
    assert "kubectl" in script
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    subprocess.run(
        ["sh", "-e"],
        input=script,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=True,
        timeout=60,
    )
    for space, authority in authorities.items():
        assert (tmp_path / f"{space}-ca.crt").read_text() == authority

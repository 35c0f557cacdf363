"""Lua of the load generators, run by Debian's luajit. Skips the test where that is not there."""

from __future__ import annotations

import subprocess

from tests import ROOT
from tests.integration import local_servers


def run(script: str, *folders: str) -> subprocess.CompletedProcess[str]:
    """The script with the modules of `workloads/lib`, and of these other folders of `workloads`."""
    luajit = local_servers.program("luajit")
    places = [str(ROOT / "workloads" / name / "?.lua") for name in ("lib", *folders)]
    search = f'package.path = "{";".join(places)};" .. package.path\n'
    argv = [luajit, "-e", search + script]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)

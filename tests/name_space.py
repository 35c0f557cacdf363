"""Scripts that mount, for tests: in a mount name space of their own, whose mounts end with it."""

from __future__ import annotations

import subprocess

import pytest


def in_a_name_space(script: str, *arguments: str) -> None:
    """Runs a script of bash as root of the name space; AssertionError if it fails. The test is
    skipped where the kernel gives this user none."""
    argv = [
        "unshare",
        "--mount",
        "--map-root-user",
        "bash",
        "-euc",
        script,
        "x",
        *arguments,
    ]
    if subprocess.run(
        [*argv[:3], "mount", "-t", "tmpfs", "none", "/mnt"], check=False
    ).returncode:
        pytest.skip("no name space of mounts can be had here")
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"

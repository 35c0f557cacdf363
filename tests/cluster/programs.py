"""The programs that a test cluster runs: Debian's packages, and what Go builds from its modules.

They are made once for all clones of a user, in a folder named after the content of the Go modules
beside this file, because building them takes minutes. What is named there by version and checksum
is what runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    / "tierbench-tests"
    / "kubernetes"
)
MODULES = ("kubernetes", "coredns", "pause")
PARTS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
)
# The VolumeSnapshot kinds that a snapshot controller installs; the checksum is Go's own.
SNAPSHOTS = "github.com/kubernetes-csi/external-snapshotter/client/v8@v8.2.0"
SNAPSHOTS_SUM = "h1:Q3jQ1NkFqv5o+F8dMmHd8SfEmlcwNeo1immFApntEwE="
# Installed where the command is missing.
PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "mkfs.xfs": "xfsprogs",
    "ip": "iproute2",
    "curl": "curl",
    "unshare": "util-linux",
    "sysctl": "procps",
}
# Unpacked only: installed, they would start services and change the machine's network settings.
UNPACKED = ("etcd-server", "containernetworking-plugins")
PLUGINS = ("bridge", "host-local", "loopback", "portmap")


class Unavailable(Exception):
    """What is missing on this machine, and what to do about it."""


def version() -> str:
    """Of Kubernetes, as its go.mod pins it: "v1.31.4"."""
    found = re.search(
        r"k8s.io/kubernetes (v\S+)", (HERE / "kubernetes/go.mod").read_text()
    )
    assert found
    return found[1]


def folder() -> Path:
    """Where the programs are, or will be: named after the content of the Go modules."""
    digest = hashlib.sha256()
    for module in MODULES:
        for file in sorted((HERE / module).glob("*.*")):
            digest.update(
                f"{module}/{file.name}\0".encode() + file.read_bytes() + b"\0"
            )
    return CACHE / digest.hexdigest()[:12]


def missing() -> str:
    """What this machine lacks for a cluster; empty where one can be started."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root on Linux can start a Kubernetes for tests"
    if not Path("/sys/fs/cgroup/cpuset").is_dir():
        return "the Kubernetes for tests was only ever run with version 1 of cgroups"
    lacking = [command for command in PACKAGES if shutil.which(command) is None]
    if lacking or not folder().is_dir():
        return "no Kubernetes for tests is built here: `make test-kubernetes` does it (10 minutes)"
    return ""


def provide() -> Path:
    """Installs and builds what is missing; returns the folder of the programs."""
    if not missing():
        return folder()
    lacking = {
        package
        for command, package in PACKAGES.items()
        if shutil.which(command) is None
    }
    if lacking:
        _say(f"installing {' '.join(sorted(lacking))}")
        _apt("install", "-y", "--no-install-recommends", *sorted(lacking))
    _build_all(folder())
    if why := missing():
        raise Unavailable(why)
    return folder()


def _build_all(target: Path) -> None:
    """One build at a time; `target` is there when it is whole."""
    if shutil.which("go") is None:
        raise Unavailable("Go 1.23 or newer is needed to build Kubernetes for tests")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            return
        part = CACHE / "part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        _debian(part)
        _definitions(part / "definitions")
        for module in MODULES:
            began = time.monotonic()
            _say(f"building {module}")
            _build(HERE / module, part / module)
            _say(f"built {module} in {time.monotonic() - began:.0f} s")
        for name in PARTS:
            (part / name).symlink_to("kubernetes")
        part.rename(target)


def _build(module: Path, binary: Path) -> None:
    """`nice`, since it takes minutes of all cores. What go.sum does not know is refused."""
    flags = ["-s", "-w"]
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        major, minor, _ = version().removeprefix("v").split(".")
        values = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor}
        flags += [f"-X {package}.{name}={value}" for name, value in values.items()]
    command = ["nice", "go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath"]
    command += ["-ldflags", " ".join(flags), "-o", str(binary), "."]
    _run(command, cwd=module, env={"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"})


def _debian(bin_folder: Path) -> None:
    """etcd and the network plugins, out of their packages."""
    _say(f"unpacking {' '.join(UNPACKED)}")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        scratch.chmod(0o755)  # apt downloads as a user of its own
        _apt("download", *UNPACKED, cwd=scratch)
        for package in scratch.glob("*.deb"):
            _run(["dpkg", "-x", str(package), str(scratch / "root")])
        shutil.copy2(scratch / "root/usr/bin/etcd", bin_folder)
        (bin_folder / "cni").mkdir()
        for plugin in PLUGINS:
            shutil.copy2(scratch / "root/usr/lib/cni" / plugin, bin_folder / "cni")


def _definitions(target: Path) -> None:
    """The definitions of the VolumeSnapshot kinds, out of the module that publishes them."""
    downloaded = json.loads(
        _run(["go", "mod", "download", "-json", SNAPSHOTS], cwd=Path("/"))
    )
    if downloaded["Sum"] != SNAPSHOTS_SUM:
        raise Unavailable(
            f"{SNAPSHOTS} has the checksum {downloaded['Sum']}: {SNAPSHOTS_SUM} is ours"
        )
    shutil.copytree(
        Path(downloaded["Dir"]) / "config/crd", target, copy_function=shutil.copyfile
    )
    target.chmod(0o755)  # Go's folders of modules may not be written to


def versions(binaries: Path) -> dict[str, str]:
    """What runs, for a record: program → the line in which it says its version."""
    commands = {
        "kubernetes": [str(binaries / "kubelet"), "--version"],
        "coredns": [str(binaries / "coredns"), "-version"],
        "etcd": [str(binaries / "etcd"), "--version"],
        "containerd": ["containerd", "--version"],
        "runc": ["runc", "--version"],
        "iptables": ["iptables", "--version"],
        "xfsprogs": ["mkfs.xfs", "-V"],
    }
    return {name: _run(command).splitlines()[0] for name, command in commands.items()}


def _apt(*arguments: str, cwd: Path | None = None) -> None:
    if shutil.which("apt-get") is None:
        raise Unavailable(
            f"no apt-get here: `apt-get {' '.join(arguments)}` is what is wanted"
        )
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        _run(["apt-get", *arguments], cwd=cwd, env=env)
    except Unavailable:  # the package lists may be missing or old
        _run(["apt-get", "update"], env=env)
        _run(["apt-get", *arguments], cwd=cwd, env=env)


def _run(
    command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None
) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise Unavailable(
            f"`{' '.join(command)}` failed:\n{(done.stderr or done.stdout)[-3000:]}"
        )
    return done.stdout


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

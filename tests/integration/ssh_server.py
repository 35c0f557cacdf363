"""An ssh server on a machine of the tests, out of Debian's package, and a way to it, with keys and
configuration of its own. Nothing is installed; nothing in anyone's ~/.ssh is read or written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.engines import RemoteEngine, end

_PORT = 2222
_PACKAGES = ("openssh-server", "libwrap0")


@dataclass(frozen=True)
class SshServer:
    """`address`: the engine's, by ssh; `environment`: that in which `ssh` finds the way there;
    `folder`: with its configuration, log and keys."""

    address: str
    environment: dict[str, str]
    folder: Path
    command: tuple[str, ...]
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        """Starts it, and waits until it lets the client in."""
        with (self.folder / "log").open("a") as log:
            self.started.append(subprocess.Popen(self.command, stdout=log, stderr=log))
        _await(self.folder / "bin/ssh", self.started[-1], self.folder / "log")

    def end(self) -> None:
        """Who is logged in stays so."""
        end(self.started[-1])

    def cut(self) -> None:
        """Ends it and all of its sessions, as a machine that is switched off does."""
        sessions = _children(self.started[-1].pid)
        self.end()
        for process in sessions:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def _children(process: int) -> list[int]:
    own = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [
        *map(int, own),
        *(below for child in own for below in _children(int(child))),
    ]


@contextmanager
def ssh_to(engine: RemoteEngine, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the engine's ssh address, and the environment in which `ssh` finds the way there."""
    with ssh_server(engine, folder) as server:
        yield server.address, server.environment


@contextmanager
def ssh_server(engine: RemoteEngine, folder: Path) -> Iterator[SshServer]:
    """One before this engine, which runs."""
    root = _unpacked(folder)
    for key in ("host", "client"):
        _run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)])
    shutil.copy(folder / "client.pub", folder / "authorized")
    host_key = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known").write_text(f"[{engine.address}]:{_PORT} {host_key}\n")
    sessions = root / "usr/lib/openssh"
    (folder / "sshd_config").write_text(
        f"ListenAddress {engine.address}\nPort {_PORT}\nHostKey {folder / 'host'}\n"
        f"AuthorizedKeysFile {folder / 'authorized'}\nStrictModes no\nUsePAM no\nPidFile none\n"
        "PasswordAuthentication no\n"
        + "".join(
            f"{word} {sessions / program}\n"  # since 9.8 and 10.0
            for word, program in (
                ("SshdSessionPath", "sshd-session"),
                ("SshdAuthPath", "sshd-auth"),
            )
            if (sessions / program).exists()
        )
    )
    (folder / "ssh_config").write_text(
        f"Host vm1\n  HostName {engine.address}\n  Port {_PORT}\n  User root\n"
        f"  IdentityFile {folder / 'client'}\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder / 'known'}\n  GlobalKnownHostsFile none\n"
    )
    programs = folder / "bin"
    programs.mkdir()
    wrapper = programs / "ssh"
    wrapper.write_text(
        f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder / "ssh_config"} "$@"\n'
    )
    wrapper.chmod(0o755)
    users = Path("/etc/passwd").read_text().rstrip("\n")
    (folder / "passwd").write_text(
        f"{users}\nsshd:x:64999:65534::/run/sshd:/usr/sbin/nologin\n"
    )
    # It wants a user and a folder of its own, which only it sees.
    mounts = f"mount --bind {folder / 'passwd'} /etc/passwd && mount -t tmpfs none /run"
    private = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'{mounts} && mkdir /run/sshd && exec "$@"',
        "sh",
    ]
    libraries = ":".join(str(one.parent) for one in root.rglob("libwrap.so.0"))
    program = [
        "env",
        f"LD_LIBRARY_PATH={libraries}",
        str(root / "usr/sbin/sshd"),
        "-D",
        "-e",
    ]
    command = (*engine.inside, *private, *program, "-f", str(folder / "sshd_config"))
    environment = {"PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin"}
    server = SshServer(f"ssh://vm1{engine.socket}", environment, folder, command)
    try:
        server.start()
        yield server
    finally:
        server.end()


def _unpacked(folder: Path) -> Path:
    folder.chmod(0o755)
    _run(["apt-get", "download", *_PACKAGES], folder)
    for package in folder.glob("*.deb"):
        _run(["dpkg", "-x", str(package), str(folder / "root")])
    return folder / "root"


def _await(ssh: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(50):
        assert process.poll() is None, log.read_text()[-2000:]
        done = subprocess.run(
            [ssh, "-o", "BatchMode=yes", "vm1", "true"], capture_output=True
        )
        if done.returncode == 0:
            return
        time.sleep(0.2)
    raise AssertionError(f"{done.stderr.decode()}: {log.read_text()[-2000:]}")


def _run(argv: list[str], folder: Path | None = None) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr}"

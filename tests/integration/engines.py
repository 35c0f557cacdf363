"""More Docker engines on this computer, each as if it were another's: in a network name space of
its own, with folders of its own, reached by TCP with client certificates or by ssh.

Nothing of one meets the engine that is here: no rule of iptables, no bridge, no socket is shared.
Loop devices are the kernel's, so whoever makes them detaches them.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PORT = 2376
_NAME = "tb-test"  # of the name spaces and the link to them
_SUBNET = "10.197.1"
_DAY = datetime.timedelta(days=1)

NEEDS_NAME_SPACES = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("dockerd"),
    reason="needs root, `dockerd` and `nsenter`: network name spaces are made here",
)
NEEDS_ENGINES = [  # several
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_left"),
    NEEDS_NAME_SPACES,
    pytest.mark.skipif(
        Path("/run/containerd/containerd.sock").exists(),
        reason="engines would share this computer's containerd, and with it its network",
    ),
]


def disks_kept() -> set[Path]:
    """Images of disks where engines elsewhere keep them, which is a folder of this computer."""
    return set(Path("/var/lib/tierbench").rglob("*.img"))


@dataclass(frozen=True)
class RemoteEngine:
    """An engine at `address`. `certificates`: a folder as DOCKER_CERT_PATH wants it; `socket`:
    where it listens on its own machine; `inside`: what begins a command that runs there."""

    address: str
    certificates: Path
    socket: Path
    inside: tuple[str, ...]
    options: tuple[str, ...] = ()
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    from_there = f"{_SUBNET}.1"  # the address of this computer

    @property
    def environment(self) -> dict[str, str]:
        """By which programs find it."""
        return {
            "DOCKER_HOST": f"tcp://{self.address}:{PORT}",
            "DOCKER_TLS_VERIFY": "1",
            "DOCKER_CERT_PATH": str(self.certificates),
        }

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self.started[-1]

    def start(self) -> None:
        """Starts dockerd, and waits until it answers."""
        file = self.socket.parent / "log"
        with file.open("a") as log:
            command = [*self.inside, "dockerd", *self.options]
            self.started.append(subprocess.Popen(command, stdout=log, stderr=log))
        _await(self, self.process, file)

    def kill(self) -> None:
        """As by SIGKILL: its containers stay as they are."""
        self.process.kill()
        self.process.wait(timeout=10)

    def docker(self, *arguments: str) -> str:
        return _run(["docker", *arguments], {**os.environ, **self.environment})

    def bring(self, images: Sequence[str], archive: Path) -> None:
        """Brings images of the engine here."""
        _run(["docker", "save", "--output", str(archive), *images])
        self.docker("load", "--input", str(archive))

    def is_context(self, name: str, configuration: Path) -> None:
        """Makes it a context in the folder that DOCKER_CONFIG names."""
        configuration.mkdir(exist_ok=True)
        (configuration / "config.json").write_text("{}")
        files = {"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"}
        named = [f"{key}={self.certificates / file}" for key, file in files.items()]
        endpoint = ",".join([f"host=tcp://{self.address}:{PORT}", *named])
        making = ["docker", "--config", str(configuration), "context", "create", name]
        _run([*making, "--docker", endpoint])


@contextmanager
def remote_engine() -> Iterator[RemoteEngine]:
    """Starts one; ends it by its process, and removes all of it, at the end of the block."""
    with remote_engines(1) as (engine,):
        yield engine


def left_on(engines: Sequence[RemoteEngine]) -> str:
    """Identifiers of containers and of campaigns' volumes that are there; or empty."""
    listing = (
        "ps --all --quiet",
        "volume ls --quiet --filter label=tierbench.campaign",
    )
    return "".join(one.docker(*words.split()) for one in engines for words in listing)


@contextmanager
def remote_engines(count: int) -> Iterator[tuple[RemoteEngine, ...]]:
    """Starts several, on machines that reach one another and are reached from here. What joins them
    is a bridge in a name space of its own: the rules of the engine here would not let them pass.
    Their folder has a short name: a socket's has at most 107 characters, of which pytest's folders
    left too few for containerd's."""
    folder = Path(tempfile.mkdtemp(prefix="tb-"))
    with ExitStack() as down:
        down.callback(shutil.rmtree, folder, ignore_errors=True)
        switch = _space(f"{_NAME}-switch", down)
        _run([*switch, "ip", "link", "add", "switch", "type", "bridge"])
        _run([*switch, "ip", "link", "set", "switch", "up"])
        _run(
            [
                "ip",
                "link",
                "add",
                _NAME,
                "type",
                "veth",
                "peer",
                "here",
                "netns",
                f"{_NAME}-switch",
            ]
        )
        down.callback(_run, ["ip", "link", "delete", _NAME])
        _run([*switch, "ip", "link", "set", "here", "master", "switch", "up"])
        _run(["ip", "address", "add", f"{_SUBNET}.1/24", "dev", _NAME])
        _run(["ip", "link", "set", _NAME, "up"])
        yield tuple(
            _engine(
                folder / str(number), f"{_SUBNET}.{10 + number}", number, switch, down
            )
            for number in range(1, count + 1)
        )


def _space(name: str, down: ExitStack) -> tuple[str, ...]:
    """Makes a network name space; returns what begins a command that runs in it."""
    _run(["ip", "netns", "add", name])
    down.callback(_run, ["ip", "netns", "delete", name])
    # `ip netns exec` would hide the control groups.
    return ("nsenter", f"--net={Path('/run/netns') / name}")


def _engine(
    folder: Path, address: str, number: int, switch: tuple[str, ...], down: ExitStack
) -> RemoteEngine:
    certificates, name = folder / "certificates", f"{_NAME}-{number}"
    _certificates(certificates, address)
    inside = _space(name, down)
    port = f"port{number}"
    _run(
        [
            *switch,
            "ip",
            "link",
            "add",
            port,
            "type",
            "veth",
            "peer",
            "eth0",
            "netns",
            name,
        ]
    )
    _run([*switch, "ip", "link", "set", port, "master", "switch", "up"])
    _run([*inside, "ip", "address", "add", f"{address}/24", "dev", "eth0"])
    for device in ("lo", "eth0"):
        _run([*inside, "ip", "link", "set", device, "up"])
    socket = folder / "docker.sock"
    options = (
        *("--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")),
        *("--pidfile", str(folder / "pid"), "--host", f"tcp://{address}:{PORT}"),
        *("--host", f"unix://{socket}"),
        *("--iptables=false", "--ip6tables=false", "--ip-masq=false", "--tlsverify"),
        *("--tlscacert", str(certificates / "ca.pem")),
        *("--tlscert", str(certificates / "server.pem")),
        *("--tlskey", str(certificates / "server-key.pem")),
    )
    engine = RemoteEngine(address, certificates, socket, inside, options)
    down.callback(_unmount, folder)
    down.callback(lambda: end(engine.process))
    engine.start()
    return engine


def _unmount(folder: Path) -> None:
    """An engine leaves the mark of its machine's name space mounted, if a container used that."""
    for line in Path("/proc/mounts").read_text().splitlines():
        if (place := line.split()[1]).startswith(f"{folder}/"):
            _run(["umount", place])


def _await(engine: RemoteEngine, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            engine.docker("version")
            return
        except AssertionError:
            time.sleep(0.2)
    raise AssertionError(f"the engine does not answer: {log.read_text()[-3000:]}")


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=10)


def _run(argv: Sequence[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr}"
    return done.stdout


def _certificates(folder: Path, address: str) -> None:
    """ca.pem, cert.pem and key.pem of the client; server.pem and server-key.pem."""
    folder.mkdir(parents=True)
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = _name("test authority")
    now = datetime.datetime.now(datetime.UTC)

    def signed(
        name: str, key: ec.EllipticCurvePrivateKey, of_authority: bool = False
    ) -> bytes:
        names = [x509.IPAddress(ipaddress.ip_address(address))]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(x509.BasicConstraints(of_authority, None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(authority, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)

    (folder / "ca.pem").write_bytes(
        signed("test authority", authority, of_authority=True)
    )
    for name, certificate, key_file in (
        ("client", "cert.pem", "key.pem"),
        ("server", "server.pem", "server-key.pem"),
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        (folder / certificate).write_bytes(signed(name, key))
        (folder / key_file).write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

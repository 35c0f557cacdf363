"""An engine behind ssh, reached by its socket, forwarded to one of this computer.

docker-py's own way, `docker system dial-stdio` on the other side for each connection, cannot carry
commands that are talked with: its socket is no socket, and needs another library. A forwarded one
is, and opens no session for each connection. The user's own ssh is used, with its configuration,
keys and known hosts; it never asks. The session runs `cat`, which ends, and with it the tunnel,
when this program is gone."""

import atexit
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.keys import engine_addresses, shipped_yaml
from orchestrator.powers import Clock
from orchestrator.system import at_once, shell
from orchestrator.system.clock import SystemClock

_SOCKET = "/var/run/docker.sock"  # unless the address has a path
_UP = "tierbench: forwarded"
_CONFIGURED_S = 10.0


class Tunnel:
    """A tunnel to the engine at `url`, made again if it breaks; `host` is its machine as ssh has
    it. UsageError for another address, UnavailableError if ssh cannot connect."""

    start_beside: Callable[[Sequence[str]], shell.Beside] = staticmethod(shell.Beside)
    clock: Clock = SystemClock()
    again_s = 1.0
    open_s = 60.0

    def __init__(self, url: str) -> None:
        match = engine_addresses.SSH.fullmatch(url)
        if match is None:
            raise UsageError(
                f"{url} is not an address of an engine behind ssh",
                advice="write ssh://[user@]host[:port], and a path if its socket is "
                "elsewhere",
            )
        self._url = url
        self._at = match.groupdict(default="")
        self.trouble = ""  # why it could not be made again, at the last attempt
        self._folder = Path(tempfile.mkdtemp(prefix="tierbench-ssh-"))
        self.socket = self._folder / "docker.sock"
        self._closing = threading.Event()
        try:
            self.host = self._host()
            self._beside = self._opened()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._keeper = threading.Thread(
            target=self._keep, name="ssh tunnel", daemon=True
        )
        self._keeper.start()

    def _host(self) -> str:
        """The host name by the user's configuration of ssh; else as the address has it."""
        argv = self._command("-G")
        # `ssh -G` says what the user's configuration makes of the host, and connects nowhere.
        done = shell.SystemShell().run(argv, timeout_s=_CONFIGURED_S)
        host = ""
        for line in done.out.splitlines():
            option, _, value = line.partition(" ")
            if option == "hostname":
                host = value
        return host or self._at["host"]

    def close(self) -> None:
        self._closing.set()
        self._beside.close()
        self._keeper.join(timeout=5)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _command(self, *options: str) -> list[str]:
        command = ["ssh", *options]
        if self._at["port"]:
            command += ["-p", self._at["port"]]
        if self._at["user"]:
            command += ["-l", self._at["user"]]
        return [*command, "--", self._at["host"]]

    def _opened(self) -> shell.Beside:
        options: list[str] = []
        for option in shipped_yaml.shipped(__package__, "ssh.yaml")["options"]:
            options += ["-o", option]
        path = self._at["path"].rstrip("/") or _SOCKET
        forward = f"{self.socket}:{path}"
        command = self._command("-T", *options, "-L", forward)
        # `cat` ends with this program, which holds its
        # input, and the session and the tunnel with it.
        beside = self.start_beside([*command, f"echo '{_UP}' && exec cat"])
        lines: list[str] = []

        def is_up() -> bool:
            for line in beside.lines():
                if line == _UP:
                    return True
                lines.append(line)
            return False

        try:
            # The line comes when the session is up, and ssh
            # has opened the forwarded socket before that.
            if at_once.within(is_up, self.open_s):
                return beside
        except TimeoutError as error:
            lines.append(str(error))
        beside.close()
        raise self._not_connected(" ".join(lines[-3:]) or "it says nothing")

    def _not_connected(self, why: str) -> UnavailableError:
        ssh = " ".join(self._command("-o", "BatchMode=yes"))
        return UnavailableError(
            f"{self._url}: ssh does not connect: {why}",
            advice=(
                f"`{ssh} docker version` must work without a question. The key "
                "needs no passphrase or is in an agent, and the host is known"
            ),
        )

    def _keep(self) -> None:
        """Opens the tunnel again when it breaks. No error ends that, also not a busy machine's."""
        while not self._closing.is_set():
            # The lines are read until the session ends: they say nothing more.
            with suppress(Exception):
                deque(self._beside.lines(), maxlen=0)
            # A pause before each attempt: a machine that restarts refuses at once.
            while not self.clock.wait(self._closing, self.again_s):
                try:
                    self._beside = self._opened()
                    self.trouble = ""
                    break
                except Exception as error:
                    self.trouble = f"the tunnel cannot be made again: {error}"
        self._beside.close()
        with suppress(ValueError):  # they are closed if it was being read
            deque(self._beside.lines(), maxlen=0)


@cache
def tunnel_to(url: str) -> Tunnel:
    """The one tunnel to this address, which stays until the program ends."""
    tunnel = Tunnel(url)
    atexit.register(tunnel.close)
    return tunnel

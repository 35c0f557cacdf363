"""An interpreter that has imported what a program needs, and forks for every start of it.

Tests that start the program many times would import it as many times, which takes most of the time.
A fork is a process of its own with files, environment, folder and end of its own, as a start is.
What is about how a process begins is no matter for it, such as a stream that is closed.

The interpreter has one thread and has run nothing of the program before it forks.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

from tests import ROOT

PROGRAM = "from orchestrator.cli.main import main; main()"
_MOST_BYTES = 2**20
_WITHIN_S = 120.0


class Forking:
    """`modules`: what it imports, once. `environment`: it starts in, beside that of the tests. Used
    from one thread."""

    def __init__(self, modules: Sequence[str], **environment: str) -> None:
        self._environment = environment
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_WITHIN_S)
        command = [sys.executable, "-m", __name__, str(theirs.fileno()), *modules]
        self._interpreter = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def close(self) -> None:
        self._socket.close()
        self._interpreter.wait(_WITHIN_S)

    def run(
        self,
        words: Sequence[str],
        code: str = PROGRAM,
        stdout: int | None = None,
        stderr: int | None = None,
        environment: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        """Runs `code` with these words in a process of its own, in the project's folder.

        `stdout`, `stderr`: files that are written to; what is written elsewhere is returned.
        `environment`: beside that of the interpreter. TimeoutError if it does not end.
        """
        variables = {**os.environ, **self._environment, **environment}
        asked = {
            "code": code,
            "words": [_as_bytes(word) for word in words],
            "variables": {_as_bytes(k): _as_bytes(v) for k, v in variables.items()},
        }
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            files = [out.fileno(), err.fileno()]
            if stdout is not None:
                files[0] = stdout
            if stderr is not None:
                files[1] = stderr
            socket.send_fds(self._socket, [json.dumps(asked).encode()], files)
            status = json.loads(self._socket.recv(_MOST_BYTES))
            return subprocess.CompletedProcess(
                words, status, _content_of(out), _content_of(err)
            )


def _content_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _as_bytes(text: str) -> str:
    """Bytes that the system knows the text by, as JSON can hold them."""
    return os.fsencode(text).decode("latin-1")


def _in_this_locale(text: str) -> str:
    """The text of such bytes, as a process reads its words and its environment."""
    return os.fsdecode(text.encode("latin-1"))


def _serve(asking: socket.socket) -> None:
    """Forks for each thing that is asked, until nobody can ask any more. A child goes on below."""
    while True:
        text, files, _flags, _address = socket.recv_fds(asking, _MOST_BYTES, 2)
        if not text:
            return
        child = os.fork()
        if child == 0:
            asking.close()
            _become(json.loads(text), files)
            return
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        asking.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _become(asked: Mapping[str, Any], files: Sequence[int]) -> None:
    """Makes this child the process that was asked for, and runs its code."""
    for file, standard in zip(files, (1, 2), strict=True):
        os.dup2(file, standard)
        os.close(file)
    # Those of the interpreter have what its own files can do, such as seeking.
    sys.stdout = os.fdopen(1, "w", errors=sys.stdout.errors, closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.environ.clear()
    for name, value in asked["variables"].items():
        os.environ[_in_this_locale(name)] = _in_this_locale(value)
    sys.argv = ["tierbench", *[_in_this_locale(word) for word in asked["words"]]]
    exec(asked["code"], {"__name__": "__main__"})


if __name__ == "__main__":
    for _module in sys.argv[2:]:
        importlib.import_module(_module)
    # A fork's collections of garbage pass over it, which would copy all of it.
    gc.collect()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))

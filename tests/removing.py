"""What `tierbench clean` does with folders, as a program: for tests that mount in a name space.

    python -m tests.removing FOLDER…

Each folder has a file `act`: `clean CACHE`, or `take FOLDER NAME`, which brings back what a
container lists, and then does not. What was said goes to its file `said`, and the exit code to
`code`; 70, as of the program, is that of a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

from orchestrator.errors import EXIT_INTERNAL
from orchestrator.kernel import mounts
from orchestrator.platforms.common import carried
from orchestrator.run import datasets
from tests.fakes import fake_world


@patch.object(mounts, "mount_points", lambda _machine: ())  # this machine's own are not asked
def main(*places: str) -> None:
    for place in map(Path, places):
        said, code = list[str](), 0
        try:
            verb, folder, *words = (place / "act").read_text().split()
            if verb == "take":
                _take(Path(folder), words[0])
            else:
                said += map(str, datasets.forget(fake_world(cache=Path(folder))))
        except Exception as error:
            said.append(str(error))
            code = getattr(error, "exit_code", EXIT_INTERNAL)
        (place / "said").write_text("\n".join(said))
        (place / "code").write_text(str(code))


def _take(folder: Path, name: str) -> None:
    lists = iter([f"4 1.0 {name}\0".encode(), b""])

    def pipe(argv: Sequence[str], _data: bytes, out: Callable[[bytes], None]) -> None:
        out(next(lists) if argv[2].startswith("find") else bytes(10_240))  # an empty archive

    files = carried.Carried(folder, "/out", False, pipe)
    files.take()
    files.take()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What `tierbench clean` does with folders, as a program: for tests that mount in a name space.

    python -m tests.removing FOLDER…

Each folder has a file `act`: `clean CACHE`, or `take FOLDER NAME`, which takes a file of that name
from a container. What was said goes to its file `said`, and the exit code to
`code`; 70, as of the program, is that of a traceback.
"""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import EXIT_INTERNAL
from orchestrator.platforms.common import archives
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import World
from orchestrator.run.data import datasets
from orchestrator.tiers import tier_mechanisms
from tests.fakes import FakePlatform, fake_world


def main(*places: str) -> None:
    for place in map(Path, places):
        said, code = list[str](), 0
        try:
            verb, folder, *words = (place / "act").read_text().split()
            if verb == "take":
                _take(Path(folder), words[0])
            else:
                said += map(
                    str,
                    datasets.forget(
                        tier_mechanisms(),
                        unmounted(fake_world(cache=Path(folder))),
                        only_list=False,
                    ),
                )
        except Exception as error:
            said.append(str(error))
            code = getattr(error, "exit_code", EXIT_INTERNAL)
        (place / "said").write_text("\n".join(said))
        (place / "code").write_text(str(code))


class NothingMounted(LocalMachine):
    """This computer, whose own mounts are not asked."""

    def read(self, path: str) -> str:
        return "" if path == "/proc/self/mountinfo" else super().read(path)


def unmounted(world: World) -> World:
    """The same where nothing is mounted."""
    return replace(world, platform=FakePlatform(machine=NothingMounted()))


def _take(folder: Path, name: str) -> None:
    archives.unpack(io.BytesIO(archives.written({f"out/{name}": b"rows"})), folder)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Files that stand beside the modules of a package: shell and SQL, each read once."""

from functools import cache
from importlib import resources


@cache
def package_file(package: str, path: str) -> str:
    """The text of a file below the folder of a package, such as `scripts/relay.sh`.

    FileNotFoundError if there is none."""
    return (resources.files(package) / path).read_text(encoding="utf-8")


def without_header(text: str, comment: str) -> str:
    """The text without its leading comments. Server logs and command lines then do not show them.

    `comment`: how a line of comment begins.
    """
    lines = text.splitlines(keepends=True)
    while lines and (lines[0].startswith(comment) or not lines[0].strip()):
        del lines[0]
    return "".join(lines)

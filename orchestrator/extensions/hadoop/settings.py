"""Settings of Hadoop as jobs and servers take them."""

import re


def is_setting(begin: str, name: str, value: str) -> bool:
    """Whether a name is one of Hadoop's that begins so, letters of either case in it, and its value
    is one word of a command line."""
    if not name.startswith(begin):
        return False
    rest = name.removeprefix(begin)
    if re.fullmatch(r"[\w.-]+", rest) is None:
        return False
    return not set(value) & set(" \t\n'\"")

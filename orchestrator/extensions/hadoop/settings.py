"""Settings of Hadoop as jobs and servers take them."""

import re


def is_setting(begin: str, name: str, value: str) -> bool:
    """Whether this is a setting of Hadoop, with a value that is one word of a command line.

    The name begins with `begin`. Its letters may be of either case.
    """
    if not name.startswith(begin):
        return False
    rest = name.removeprefix(begin)
    if re.fullmatch(r"[\w.-]+", rest) is None:
        return False
    return not set(value) & set(" \t\n'\"")

"""Hadoop's file system: its servers' pages, and settings as jobs and servers take them."""

import re


def is_setting(begin: str, name: str, value: str) -> bool:
    """Whether a name is one of Hadoop's that begins so, letters of either case in it, and its value
    is one word of a command line."""
    rest = name.removeprefix(begin)
    named = rest != name and re.fullmatch(r"[\w.-]+", rest) is not None
    return named and not set(value) & set(" \t\n'\"")

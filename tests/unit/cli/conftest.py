"""What several tests of the command line start from."""

from tests.option_kinds import profile_files

__all__ = ["profile_files"]

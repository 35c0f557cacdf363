"""The command that was given for a campaign, and where it put its results. Pure."""

import shlex
from argparse import ArgumentError, ArgumentParser
from pathlib import PurePath

from orchestrator.analysis.results import Results

_RESULTS = "--results"


def given_command(campaign: Results) -> str:
    """The command that was given, as a shell takes it; empty if it was not kept."""
    facts = campaign.fingerprint
    # A command without its folder was kept without its quotes, and is another one.
    if "directory" in facts:
        return str(facts.get("command", ""))
    return ""


def results_words(campaign: Results) -> list[str]:
    """`--results FOLDER` as a further command takes it, from whatever folder it is given; nothing
    if the campaign lies where results lie without that option."""
    reader = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    reader.add_argument(_RESULTS, default="")
    try:
        given, _ = reader.parse_known_args(shlex.split(given_command(campaign)))
    except (ArgumentError, ValueError):  # no command line of ours
        return []
    if not given.results:
        return []
    # A relative path begins where the command was given.
    folder = PurePath(str(campaign.fingerprint["directory"])) / given.results
    return [_RESULTS, str(folder)]

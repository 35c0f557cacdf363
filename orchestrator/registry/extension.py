"""What an extension brings, as data.

A distribution names its `Extension` as an entry point of the group `tierbench.extensions`. All
objects in it are given by their places (`module:attribute`), and a place is imported when it is
used: so `tierbench --help` and a plan without its members wait for nothing of an extension. The
module that has the `Extension` itself should import nothing else.

docs/ADDING.md shows a whole distribution.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.facts import DoubtEffect


@dataclass(frozen=True)
class DatabaseEntry:
    """A database that `--db` and profiles name."""

    # Place of the class, or of a function without parameters, that makes a `parts.Database`.
    member: str
    # Files are written to it, and not rows.
    takes_files: bool = False
    # Whether its nodes may run on several Docker engines.
    on_several_engines: bool = True
    # The image of ours that `tierbench setup --db` builds for it, as a folder of `docker/`.
    image: str = ""
    # `--db` may name it; else it is chosen by what a profile or a workload says.
    for_users: bool = True


@dataclass(frozen=True)
class GeneratorEntry:
    """A load generator that workloads name as their `generator`."""

    # Place of what makes a `parts.LoadGenerator`.
    member: str
    # Place of its `WorkloadRules` (`load_generators/common/rules.py`); without any, a workload's
    # file may say anything.
    rules: str = ""
    # The workloads of other generators that it can run, in words, if it has rules that convert
    # them: `--generator` may then name it.
    takes_over: str = ""
    # The generator loads files, and not rows.
    loads_files: bool = False
    # Place of a function that gets the platform and says, for `tierbench doctor`, where the
    # generator's program is.
    whereabouts: str = ""


@dataclass(frozen=True)
class DoubtEntry:
    """A kind of doubt: what it does to a verdict, and what finds it."""

    # Place of a generator function that yields a `model.Doubt` of that kind for each reason that it
    # finds; the effect here is put into it. It gets an `analysis.results.RunData`. Where the effect
    # is "excludes" it gets the run's `model.Record` alone, because whether a run counts must not
    # follow from its figures (docs/METHOD.md, "Which runs count").
    check: str
    effect: DoubtEffect


@dataclass(frozen=True)
class CommandEntry:
    """A command of `tierbench`."""

    # The place of a function that `cli.common.command_making.takes` decorates, or of a typer group.
    place: str
    help: str
    # The heading under which `tierbench --help` lists it.
    panel: str
    # A use of it, without the program's name.
    example: str
    # Of a command with many options the names of those that `--help` shows, with spaces between.
    first_options: str = ""
    # How to go on with it, for whoever interrupted it.
    when_interrupted: str = ""


@dataclass(frozen=True)
class Extension:
    """What one extension brings, each by the name that it has for a user."""

    # Names of other extensions whose code this one imports.
    needs: tuple[str, ...] = ()
    databases: Mapping[str, DatabaseEntry] = field(default_factory=dict)
    load_generators: Mapping[str, GeneratorEntry] = field(default_factory=dict)
    # Name → place of what makes a `parts.Collector` of a function that finds the machine of a node
    # (`collectors.common.node_by_node.on`).
    collectors: Mapping[str, str] = field(default_factory=dict)
    # `enforcement` of a profile → place of what makes a `parts.TierMechanism`.
    tiers: Mapping[str, str] = field(default_factory=dict)
    # Name for `--platform` → place of a function that gets a `powers.Clock` and a `model.Placing`
    # and returns the connected `powers.Platform`. UnavailableError if it does not answer, or if a
    # library is missing: then with what to install.
    platforms: Mapping[str, str] = field(default_factory=dict)
    # An extension with members (databases, load generators, tiers, platforms) is asked about runs
    # in which one took part. Another is asked about all runs.
    doubts: Mapping[str, DoubtEntry] = field(default_factory=dict)
    commands: Mapping[str, CommandEntry] = field(default_factory=dict)
    # Commands in groups of others, such as `admin helm-values` in `admin` → place, as that of a
    # `CommandEntry`. The help of the group imports them and shows their docstrings.
    subcommands: Mapping[str, str] = field(default_factory=dict)
    # Name → place of a function that gets the `report.report_index.ReportIndex` and returns
    # sections of the page, none where there is nothing to show.
    sections: Mapping[str, str] = field(default_factory=dict)
    # Name → place of a function that gets a campaign's `analysis.results.Results`, the name by
    # which it was asked for and the folder name of a run. It returns the `report.blocks.StoredPage`
    # of what the extension keeps of that run, or None. `tierbench report CAMPAIGN/RUN` shows it.
    pages: Mapping[str, str] = field(default_factory=dict)
    # What it keeps in a results folder, such as `observation` → place of a function. That gets a
    # folder in it, and the `analysis.campaigns.campaign_list.Entry` of the campaign there, None
    # where there is none. It yields entries for `tierbench history`, none if nothing is kept there.
    kept: Mapping[str, str] = field(default_factory=dict)
    # An option of the core, such as `--disk-metrics` → place of the function that carries it out.
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_members(self) -> bool:
        """Whether it takes part in some runs and not in others."""
        return any((self.databases, self.load_generators, self.tiers, self.platforms))

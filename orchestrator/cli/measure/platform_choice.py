"""Where profiles are carried out: the platform, and the machines on it. Nothing is asked there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.cli.common.options import Request
from orchestrator.design import machines
from orchestrator.errors import UsageError
from orchestrator.model import Placing, Profile
from orchestrator.planning.profiles import ANY_SCALE
from orchestrator.planning.project_files import read as read_files
from orchestrator.texts.prose import listed
from orchestrator.tier import ClassVolumes


def platform_of(app: App, profiles: Sequence[Profile], request: Request) -> str:
    """Where the campaign runs.

    UsageError if profiles name several platforms, because differences between these would be taken
    for differences of disks.
    """
    named = _one_platform(profiles, request)
    _check_placings(profiles)
    # --platform goes before the profiles, so that the same ones can be tried elsewhere.
    asked = request.platform or named
    # The first stands for all: `_check_placings` has seen that they name the same machines.
    machines.check_asked(profiles[0], asked)
    name = asked or PLATFORM
    if name != PLATFORM:
        app.connection(name)  # UsageError for an unknown one
        return name
    # Docker has no StorageClass. Of another platform its own check says so.
    claimed = []
    for profile in profiles:
        if isinstance(profile.tier.disk, ClassVolumes):
            claimed.append(profile.name)
    if claimed:
        raise _no_storage_class(listed(claimed), name)
    return name


def _one_platform(profiles: Sequence[Profile], request: Request) -> str | None:
    """The one that profiles name, if one does."""
    platforms = {}
    for profile in profiles:
        if profile.platform:
            platforms[profile.name] = profile.platform
    # All profiles run on the platform of --platform, whatever each of them names.
    if request.platform is None and len(set(platforms.values())) > 1:
        raise _several_platforms(platforms)
    return next(iter(platforms.values()), None)


def _check_placings(profiles: Sequence[Profile]) -> None:
    """UsageError if profiles name different machines: these would be compared, and not disks."""
    names = ", ".join(profile.name for profile in profiles)
    for profile in profiles:
        if profile.placing != profiles[0].placing:
            raise UsageError(
                f"the profiles {names} differ in `kubernetes` or `machines`",
                advice="tiers are compared on the same machines: write the same in each",
            )


def _several_platforms(platforms: Mapping[str, str]) -> UsageError:
    """`platforms`: profile → its platform."""
    named = ", ".join(f"{name}: {platform}" for name, platform in platforms.items())
    return UsageError(
        f"the profiles name several platforms ({named})",
        advice="one campaign compares tiers on one platform: say which with --platform",
    )


def _no_storage_class(profiles: str, platform: str) -> UsageError:
    return UsageError(
        f"the disks of {profiles} are volumes of a StorageClass, which {platform} does "
        "not have",
        advice=(
            "give --platform kubernetes (PLATFORM=kubernetes), or `platform: "
            "kubernetes` in the profile, or another --enforcement"
        ),
    )


def placed(
    app: App, name: str, platform: str | None = None, scale: str = ANY_SCALE
) -> Profile:
    """A profile by itself, on the platform that was asked for, else on its own. UsageError with its
    mistakes, or if its machines are not that platform's."""
    ((profile,), _) = read_files(app.root, [name], [], scale, app.disk_kinds())
    # The option --platform goes before the profile, as in a campaign.
    profile = replace(profile, platform=platform or profile.platform)
    where = profile.platform or PLATFORM
    machines.check_asked(profile, profile.platform)
    machines.check_platform(profile, where, where == PLATFORM)
    return profile


def place(
    app: App, profile: str | None, platform: str | None
) -> tuple[str | None, Placing | None]:
    """The platform that was asked for, or that of a profile with its machines."""
    if profile is None:
        return platform, None
    named = placed(app, profile, platform)
    return named.platform, named.placing

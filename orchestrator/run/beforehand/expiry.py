"""Certificates that end before a campaign may: nobody could sign in any more, after hours.

How long a campaign takes is estimated, and a file may be replaced meanwhile. So this warns."""

from collections.abc import Iterator

from orchestrator.design import costs
from orchestrator.model import Plan
from orchestrator.parts import Parts
from orchestrator.powers import CertificateFile, World
from orchestrator.system import certificates
from orchestrator.units import format_moment


def warnings(plan: Plan, parts: Parts, world: World) -> Iterator[str]:
    """One for each certificate that ends before the plan's longest time, counted from now."""
    # The longest time, as the plan may grow while it goes on.
    latest_s = world.clock.now() + costs.most_s(plan)
    for certificate in _used(plan, parts, world):
        end_s = certificates.end_s(certificate)
        if end_s is not None and end_s < latest_s:
            yield _ends_too_early(certificate, end_s, latest_s)


def _used(plan: Plan, parts: Parts, world: World) -> list[CertificateFile]:
    """Each file once: profiles of one cluster name the same ones."""
    used: dict[str, CertificateFile] = {}
    certificates_of_platform = world.platform.abilities.certificates
    if certificates_of_platform is not None:
        for certificate in certificates_of_platform():
            used[certificate.file] = certificate
    for profile in plan.profiles:
        database = parts.databases.get(profile.cluster.member)
        if database is None or database.abilities.certificates is None:
            continue
        for certificate in database.abilities.certificates(profile.cluster):
            used[certificate.file] = certificate
    return list(used.values())


def _ends_too_early(certificate: CertificateFile, end_s: float, latest_s: float) -> str:
    end = format_moment(end_s)
    latest = format_moment(latest_s)
    return (
        f"{certificate.what} expires at {end}, and the campaign may last "
        f"until {latest}. Renew it first, or runs after its end fail"
    )

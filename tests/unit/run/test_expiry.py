"""Certificates by which a cluster or an engine is reached must outlive the campaign.

Method: real certificates of an authority made here, which last 30 days; plans of 29 and 31 days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.prepare import doctor
from orchestrator.databases.existing import ExistingCluster
from orchestrator.databases.yugabytedb import tls
from orchestrator.extensions.kubernetes.connection import Api
from orchestrator.model import Plan
from orchestrator.parts import Parts
from orchestrator.platforms.docker.connection import Engine
from orchestrator.powers import CertificateFile, PlatformAbilities, World
from orchestrator.run.beforehand import expiry
from orchestrator.system import certificates
from orchestrator.system.clock import MadeUpClock, SystemClock
from tests import ROOT
from tests.cluster.pki import Authority
from tests.fake_docker import Engine as FakeEngine
from tests.fake_existing import spec
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, FakePlatform, Log, fake_world
from tests.plans import a_plan

DAY_S = 86400.0
SHORT_AND_LONG = pytest.mark.parametrize(("days", "warned"), [(29, False), (31, True)])

# Made with `openssl req -x509 -newkey ed25519 -set_serial 0`: bundles of operating systems hold
# such certificates, and the library that reads them warns of each.
SERIAL_OF_ZERO = """\
-----BEGIN CERTIFICATE-----
MIIBLzCB4qADAgECAgEAMAUGAytlcDAWMRQwEgYDVQQDDAtzZXJpYWwgemVybzAg
Fw0yNjExMjkxNzQ4NDZaGA8yMTI2MTEwNTE3NDg0NlowFjEUMBIGA1UEAwwLc2Vy
aWFsIHplcm8wKjAFBgMrZXADIQDR+ZRkCMKynQV6Anl8FiO4v471n0roSlaU0tVv
0pMqW6NTMFEwHQYDVR0OBBYEFJ/0jsCSsZUM36CRlFOGWUwZX5WCMB8GA1UdIwQY
MBaAFJ/0jsCSsZUM36CRlFOGWUwZX5WCMA8GA1UdEwEB/wQFMAMBAf8wBQYDK2Vw
A0EAPCFwoSgkiz2tcuVJgzLyCwjuiaRsxl3QPf6qH5xQvTyGzBbotLbB2wHHG7ns
loskhW3tjCvhqR5PmI+m9ARqCw==
-----END CERTIFICATE-----
"""
ITS_END_S = 4949574526.0


class Reached(FakePlatform):
    """A platform that is reached by these certificates."""

    def __init__(self, certificates: Sequence[CertificateFile]) -> None:
        super().__init__()
        self._certificates = tuple(certificates)

    @property
    def abilities(self) -> PlatformAbilities:
        return PlatformAbilities(certificates=self.certificates)

    def certificates(self) -> Sequence[CertificateFile]:
        return self._certificates


@dataclass(frozen=True)
class Signed:
    """An authority's folder, with user.crt, user.key and user.kubeconfig."""

    folder: Path

    def file(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    folder = tmp_path_factory.mktemp("signed")
    Authority.make(folder, "https://192.0.2.7:6443").user("user", "bench")
    return Signed(folder)


def lasting(days: float, plan: Plan | None = None) -> Plan:
    return replace(plan or a_plan(), estimate_s=60.0, most_s=days * DAY_S)


def today(platform: FakePlatform) -> World:
    return replace(fake_world(platform=platform), clock=SystemClock())


def warnings(
    certificates: Sequence[CertificateFile], days: float, parts: Parts | None = None
) -> list[str]:
    world = today(Reached(certificates))
    return list(expiry.warnings(lasting(days), parts or fake_parts(Log()), world))


@SHORT_AND_LONG
def test_a_client_certificate_of_the_kubeconfig_must_outlive_the_campaign(
    signed: Signed, monkeypatch: pytest.MonkeyPatch, days: int, warned: bool
) -> None:
    monkeypatch.setenv("KUBECONFIG", signed.file("user.kubeconfig"))
    texts = warnings(Api(MadeUpClock(0.0)).certificates(), days)
    subjects = [text.partition(" expires at 20")[0] for text in texts]
    of_context = "of the kubeconfig's context test"
    expected = []
    if warned:
        expected.append(f"the client certificate {of_context}")
        expected.append(f"the certificate authority {of_context}")
    assert subjects == expected


@SHORT_AND_LONG
def test_those_of_an_engine_are_where_docker_has_them(
    signed: Signed, days: int, warned: bool
) -> None:
    class Elsewhere(Engine):
        silence_s = 1.0

    engine: Any = FakeEngine(FakeClock())
    engine.api.base_url = "https://192.0.2.7:2376"
    engine.api.cert = (signed.file("user.crt"), signed.file("user.key"))
    engine.api.verify = signed.file("ca.crt")
    Elsewhere.client_of = staticmethod(lambda **_: engine)
    asked = Elsewhere(FakeClock(), "tcp://192.0.2.7:2376", "c", "")
    texts = warnings(asked.certificates(), days)
    assert len(texts) == (2 if warned else 0)
    assert all("for tcp://192.0.2.7:2376 expires at 20" in text for text in texts)


@SHORT_AND_LONG
def test_those_of_an_existing_cluster_are_its_profiles(
    signed: Signed, days: int, warned: bool
) -> None:
    cluster = spec(
        tls="verify-full",
        tls_root=signed.file("ca.crt"),
        tls_certificate=signed.file("user.crt"),
        tls_key=signed.file("user.key"),
    )
    plan = a_plan()
    (profile,) = plan.profiles
    # Two profiles of one cluster name the same files: each is told once.
    profiles = (replace(profile, cluster=cluster), replace(profile, cluster=cluster))
    parts = replace(fake_parts(Log()), databases={cluster.member: ExistingCluster()})
    planned = lasting(days, replace(plan, profiles=profiles))
    texts = list(expiry.warnings(planned, parts, today(FakePlatform())))
    assert len(texts) == (2 if warned else 0)
    if warned:
        assert f"`tls_certificate` {signed.file('user.crt')} expires at" in texts[1]


def test_a_bundle_of_authorities_is_of_use_while_one_of_them_is(
    signed: Signed, tmp_path: Path
) -> None:
    of_ten_years = tls.make(["192.0.2.1"], SystemClock().now())[0][tls.AUTHORITY]
    bundle = tmp_path / "bundle.crt"
    bundle.write_bytes(Path(signed.file("ca.crt")).read_bytes() + of_ten_years)
    assert warnings([CertificateFile("it", str(bundle), is_authority=True)], 31) == []
    # A client shows the first of its file, whatever lasts longer.
    assert len(warnings([CertificateFile("it", str(bundle))], 31)) == 1


@pytest.mark.parametrize("content", [None, b"", b"\x30\x82binary", b"-----BEGIN"])
def test_a_file_that_is_no_pem_says_nothing(
    tmp_path: Path, content: bytes | None
) -> None:
    """libpq and the client library say what is wrong with it when they read it."""
    file = tmp_path / "client.crt"
    if content is not None:
        file.write_bytes(content)
    assert warnings([CertificateFile("it", str(file))], 31) == []


def test_the_doctor_says_when_they_end(signed: Signed) -> None:
    certificate = CertificateFile("the client certificate", signed.file("user.crt"))
    found = doctor.examine_platform(Reached([certificate]), ROOT)
    texts = {finding.subject: finding.text for finding in found}
    assert texts["the client certificate"].endswith(
        "UTC; a campaign must end before that"
    )


def test_a_serial_number_of_zero_in_a_bundle_is_no_fault_of_ours(
    tmp_path: Path,
) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_text(SERIAL_OF_ZERO)
    certificate = CertificateFile("the authority", str(bundle), is_authority=True)
    assert certificates.end_s(certificate) == ITS_END_S

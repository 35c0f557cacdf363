"""Certificates and kubeconfigs of a test cluster: one authority, one pair for each program."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = datetime.timedelta(days=30)


@dataclass(frozen=True)
class Authority:
    """Signs for one cluster and keeps what it signed in `folder`. Its own key is not kept."""

    folder: Path
    server: str
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls, folder: Path, server: str) -> Authority:
        """Makes ca.crt, and the key pair sa.key, sa.pub that service accounts' tokens are signed
        with. `server` is the URL that the kubeconfigs name."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("test-cluster-ca")
        certificate = (
            _draft(name, name, key)
            .add_extension(
                x509.BasicConstraints(ca=True, path_length=None), critical=True
            )
            .sign(key, hashes.SHA256())
        )
        _write(folder / "ca.crt", certificate.public_bytes(serialization.Encoding.PEM))
        tokens = ec.generate_private_key(ec.SECP256R1())
        _write(folder / "sa.key", _private(tokens))
        public = tokens.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        _write(folder / "sa.pub", public)
        return cls(folder, server, key, certificate)

    def sign(
        self, file: str, common: str, group: str = "", names: tuple[str, ...] = ()
    ) -> tuple[str, str]:
        """Makes `file`.crt and `file`.key for the user or server `common`; returns both.

        `names` are the host names and addresses that a server answers to.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        draft = _draft(
            _name(common, group), self.certificate.subject, key
        ).add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        if names:
            alternative = x509.SubjectAlternativeName(
                [_general(name) for name in names]
            )
            draft = draft.add_extension(alternative, critical=False)
        signed = draft.sign(self.key, hashes.SHA256())
        certificate = signed.public_bytes(serialization.Encoding.PEM)
        _write(self.folder / f"{file}.crt", certificate)
        _write(self.folder / f"{file}.key", _private(key))
        return certificate.decode(), _private(key).decode()

    def user(
        self, file: str, common: str, group: str = "", names: tuple[str, ...] = ()
    ) -> None:
        """The same with a kubeconfig, `file`.kubeconfig (JSON, which is YAML too)."""
        certificate, key = self.sign(file, common, group, names)
        authority = self.certificate.public_bytes(serialization.Encoding.PEM).decode()
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": self.server,
                        "certificate-authority-data": _base64(authority),
                    },
                }
            ],
            "contexts": [
                {"name": "test", "context": {"cluster": "test", "user": common}}
            ],
            "users": [
                {
                    "name": common,
                    "user": {
                        "client-certificate-data": _base64(certificate),
                        "client-key-data": _base64(key),
                    },
                }
            ],
        }
        _write(
            self.folder / f"{file}.kubeconfig", json.dumps(content, indent=1).encode()
        )


def _name(common: str, group: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if group:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(attributes)


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _draft(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _VALID)
    )


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _write(file: Path, content: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(content)

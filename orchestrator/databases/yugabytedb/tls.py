"""TLS certificates of one cluster: an authority made for it, and a pair for each node.

The same pair serves the connections between nodes and those of clients. yugabyted requires these
names of files: ca.crt, node.<address>.crt, node.<address>.key.

The authority's private key is thrown away when its certificates are signed. So nobody can add a
node to the cluster later, and a node's private key is nowhere but in the node.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

AUTHORITY = "ca.crt"
_KEY_BITS = 2048
# Kept data sets carry their certificates, and may be used for years.
_VALID = datetime.timedelta(days=3650)


def make(addresses: Sequence[str], now_s: float) -> tuple[dict[str, bytes], ...]:
    """The files of each address: name → content. `now_s`: Unix time, from which they are valid."""
    now = datetime.datetime.fromtimestamp(now_s, datetime.UTC)
    authority = _new_authority(now)
    return tuple(_files_of_node(address, authority, now) for address in addresses)


@dataclass(frozen=True)
class _Authority:
    certificate: x509.Certificate
    key: rsa.RSAPrivateKey


def _new_authority(now: datetime.datetime) -> _Authority:
    """It signs its own certificate."""
    key = _new_key()
    name = _name("tierbench")
    may_sign_nodes = x509.BasicConstraints(
        ca=True, path_length=0
    )  # and no other authority
    draft = _unsigned(name, name, key, now).add_extension(may_sign_nodes, critical=True)
    return _Authority(draft.sign(key, hashes.SHA256()), key)


def _files_of_node(
    address: str, authority: _Authority, now: datetime.datetime
) -> dict[str, bytes]:
    key = _new_key()
    draft = _unsigned(_name(address), authority.certificate.subject, key, now)
    names = x509.SubjectAlternativeName([_alternative_name(address)])
    draft = draft.add_extension(names, critical=False)
    certificate = draft.sign(authority.key, hashes.SHA256())
    return {
        AUTHORITY: _pem(authority.certificate),
        f"node.{address}.crt": _pem(certificate),
        f"node.{address}.key": _private_pem(key),
    }


def _alternative_name(address: str) -> x509.GeneralName:
    """An IP address, or the name by which Kubernetes knows the node."""
    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,  # `BEGIN RSA PRIVATE KEY`
        serialization.NoEncryption(),
    )


def _new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _unsigned(
    subject: x509.Name,
    issuer: x509.Name,
    key: rsa.RSAPrivateKey,
    now: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Node and host share a clock here, but a day of margin costs nothing.
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + _VALID)
    )

"""Certificates of one cluster: an authority made for it, and one pair for each node.

The same pair is used between nodes and for clients. yugabyted requires the files' names: ca.crt,
node.<address>.crt, node.<address>.key. The authority's key is not kept; a node's is only in it."""

import datetime
import ipaddress
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

AUTHORITY = "ca.crt"
_KEY_BITS = 2048
_VALID = datetime.timedelta(days=3650)  # kept data sets carry them


def make(addresses: Sequence[str], now_s: float) -> tuple[dict[str, bytes], ...]:
    """Makes the files of each address: name → content."""
    now = datetime.datetime.fromtimestamp(now_s, datetime.UTC)
    key = _key()
    name = _name("tierbench")
    extension = x509.BasicConstraints(ca=True, path_length=0)
    draft = _draft(name, name, key, now).add_extension(extension, critical=True)
    authority = draft.sign(key, hashes.SHA256())
    return tuple(_files_of_node(address, authority, key, now) for address in addresses)


def _files_of_node(
    address: str,
    authority: x509.Certificate,
    authority_key: rsa.RSAPrivateKey,
    now: datetime.datetime,
) -> dict[str, bytes]:
    key = _key()
    names = x509.SubjectAlternativeName([_general(address)])
    draft = _draft(_name(address), authority.subject, key, now)
    certificate = draft.add_extension(names, critical=False).sign(
        authority_key, hashes.SHA256()
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    return {
        AUTHORITY: authority.public_bytes(serialization.Encoding.PEM),
        f"node.{address}.crt": certificate.public_bytes(serialization.Encoding.PEM),
        f"node.{address}.key": private,
    }


def _general(address: str) -> x509.GeneralName:
    """An IP address, or the name by which Kubernetes has a node."""
    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _draft(
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

"""When certificates of this computer end. The only module that looks into a file of them."""

import warnings
from pathlib import Path

from orchestrator.powers import CertificateFile


def end_s(certificate: CertificateFile) -> float | None:
    """Returns Unix seconds; None for a file that cannot be read as certificates in PEM.

    A client's file begins with its own certificate; the certificates of its signers follow. A
    bundle of authorities is of use until its last certificate ends.

    Bundles of operating systems hold certificates that RFC 5280 no longer allows. One may have a
    serial number of zero. Their end is read all the same. Whether to trust them is for the program
    that connects.
    """
    # Imported here: most commands look at no certificate.
    from cryptography import x509
    from cryptography.utils import CryptographyDeprecationWarning

    try:
        content = Path(certificate.file).read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)
            in_file = x509.load_pem_x509_certificates(content)
    except (OSError, ValueError):
        return None
    ends_s: list[float] = []
    for parsed in in_file:
        ends_s.append(parsed.not_valid_after_utc.timestamp())
    if certificate.is_authority:
        return max(ends_s)
    return ends_s[0]

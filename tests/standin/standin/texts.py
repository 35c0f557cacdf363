"""Every line that the stand-in prints, as the real programs print it, by release.

A line is held against the outputs that real clusters were seen to print: tests/standin/evidence/.
Words of the stand-in's own name it, so that they cannot be taken for the real one's.
"""

from __future__ import annotations

# Name → the release that brought this form → the line, with fields in braces.
TEXTS: dict[str, dict[tuple[int, ...], str]] = {
    # YSQL
    "banner": {
        (): "PostgreSQL 11.2-YB-{number}-b0 on",
        (2025, 1): "PostgreSQL 15.12-YB-{number}-b0 on",
    },
    "starting_up": {(): "the database system is starting up"},
    "not_encrypted": {
        (): 'no pg_hba.conf entry for host "{host}", user "{user}", database "{database}", SSL off',
        (
            2025,
            1,
        ): 'no pg_hba.conf entry for host "{host}", user "{user}", database "{database}", '
        "no encryption",
    },
    # yugabyted
    "starting": {(): "Starting yugabyted..."},
    "running_already": {(): "yugabyted is already running!"},
    "no_address": {
        (): "ERROR: --advertise_address provided is not a valid IPv4 or IPv6 address. "
        "Please try again with a valid IP.",
        (
            2024,
            1,
        ): "is not a valid address. Please try again with a valid IPV4, IPV6 or DNS.",
    },
    "no_location": {(): "ERROR: Incorrect format used for flag --cloud_location."},
    "join_refused": {
        (): "ERROR:master at the join ip provided is not reachable.",
        (2, 20): "ERROR: Master node present at {join}:7000 is not reachable.",
    },
    "secure_differs": {(): "Cannot join a secure and an insecure node."},
    "no_certificates": {
        (): "ERROR: Trying to use {folder} as the certs directory. "
        "Correct certs not found in this directory."
    },
    "no_certificates_folder": {
        (): "couldn't find the certs at default directory. "
        "Cannot create new certs as the --join flag was used"
    },
    "key_not_owned": {
        (): 'private key file "{file}" must be owned by the database user or root'
    },
    "key_not_closed": {(): 'private key file "{file}" has group or world access'},
    "unknown_flag": {(): "ERROR: unknown command line flag '{name}'"},
    "not_started": {(): "Failed to start {server} yugabyted"},
    "no_direct_io": {
        (): "require_durable_wal_write is set true, but O_DIRECT is not allowed."
    },
    "not_bound": {(): "Error binding socket to {address}"},
    "no_password": {(): "Could not update Postgress user password."},
    "status": {(): "| Status              : Running."},
    "status_again": {
        (): "| Status              : ",
        (2024, 1): "| Status              : Bootstrapping.",
    },
    "started": {(): "YugabyteDB started successfully!"},
    "stopping": {(): "Shutting down..."},
    "placed": {(): "Configuration successful."},
    "not_placed": {(): "ERROR: not enough nodes to set-up a RF-{copies} cluster"},
    # A master that does not lead and does not reach the one that does
    "no_leader": {(): 'Error retrieving leader master URL: <a href="{url}">{url}</a>'},
    # yb-admin, yb-ts-cli
    "idle": {(): "Idle = 1"},
    "moving": {(): "Idle = 0"},
    "no_master": {
        (): "Unable to establish connection to leader master at [{masters}]."
    },
    "flushed": {(): "Successfully flushed all tablets"},
    "not_flushed": {(): "Unable to flush all tablets"},
}


def series(version: str) -> tuple[int, ...]:
    """`2.18.1.0-b84` → (2, 18, 1, 0). Series sort by time: 2.18 < 2.20 < 2024.1 < 2025.2."""
    return tuple(int(part) for part in version.split("-")[0].split("."))


def line(name: str, version: str, /, **fields: str) -> str:
    """The line as the release prints it: its newest form that is not newer than the release."""
    forms = TEXTS[name]
    return forms[max(since for since in forms if since <= series(version))].format(
        **fields
    )

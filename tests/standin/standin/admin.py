"""`yb-admin`: the commands that are used, refused where no master answers."""

from __future__ import annotations

import argparse
import sys

from standin.yugabyted import get

COMMANDS = ("get_is_load_balancer_idle", "flush_sys_catalog", "list_all_masters")


def main() -> None:
    parser = argparse.ArgumentParser(prog="yb-admin", allow_abbrev=False)
    parser.add_argument("--master_addresses", "-master_addresses", required=True)
    parser.add_argument("--timeout_ms", type=int, default=60000)
    parser.add_argument("--certs_dir_name")
    parser.add_argument("command", choices=COMMANDS)
    asked = parser.parse_args()
    hosts = [master.split(":")[0] for master in asked.master_addresses.split(",")]
    masters: list[str] = []
    for host in hosts:
        try:
            masters = get(f"http://{host}:7000/standin/masters")
            break
        except OSError:
            continue
    if not masters:
        sys.stderr.write("Unable to establish connection to leader master\n")
        raise SystemExit(1)
    if asked.command == "get_is_load_balancer_idle":
        sys.stdout.write("Idle = 1\n")
    elif asked.command == "list_all_masters":
        sys.stdout.write("".join(f"{master}:7100 ALIVE\n" for master in masters))

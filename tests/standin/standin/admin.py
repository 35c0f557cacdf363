"""`yb-admin`: the commands that are used, refused where no master answers."""

from __future__ import annotations

import argparse
import sys

from standin.texts import line
from standin.words import VERSION, get

COMMANDS = ("get_is_load_balancer_idle", "flush_sys_catalog")


def main() -> None:
    parser = argparse.ArgumentParser(prog="yb-admin", allow_abbrev=False)
    parser.add_argument("--master_addresses", "-master_addresses", required=True)
    parser.add_argument("--timeout_ms", type=int, default=60000)
    parser.add_argument("--certs_dir_name")
    parser.add_argument("command", choices=COMMANDS)
    asked = parser.parse_args()
    hosts = [master.split(":")[0] for master in asked.master_addresses.split(",")]
    if not any(_leads(host) for host in hosts):
        sys.stderr.write(
            line("no_master", VERSION, masters=asked.master_addresses) + "\n"
        )
        raise SystemExit(1)
    if asked.command == "get_is_load_balancer_idle":
        idle = get(f"http://{hosts[0]}:7000/standin/idle")["idle"]
        if idle:
            sys.stdout.write(line("idle", VERSION) + "\n")
        else:
            sys.stdout.write(line("moving", VERSION) + "\n")


def _leads(host: str) -> bool:
    try:
        get(f"http://{host}:7000/standin/masters")
    except OSError:
        return False
    return True

"""`yb-ts-cli`: the commands that are used."""

from __future__ import annotations

import argparse
import sys

from standin.texts import line
from standin.words import VERSION, get

COMMANDS = ("flush_all_tablets",)


def main() -> None:
    parser = argparse.ArgumentParser(prog="yb-ts-cli", allow_abbrev=False)
    parser.add_argument("--server_address", required=True)
    parser.add_argument("--timeout_ms", type=int, default=60000)
    parser.add_argument("--certs_dir_name")
    parser.add_argument("command", choices=COMMANDS)
    asked = parser.parse_args()
    host = asked.server_address.rsplit(":", 1)[0]
    try:
        get(f"http://{host}:9000/standin/flush")
    except OSError as error:
        sys.stderr.write(line("not_flushed", VERSION) + "\n")
        raise SystemExit(1) from error
    sys.stdout.write(line("flushed", VERSION) + "\n")

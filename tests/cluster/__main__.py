"""A Kubernetes of this machine, by hand: `python -m tests.cluster setup|up|down`."""

from __future__ import annotations

import argparse
import sys
import time

from tests.cluster import cluster, leftovers, programs


def main() -> int:
    """Exit code 69 where this machine lacks something, with what it is."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.cluster", description=__doc__
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser(
        "setup", help="install and build what is missing (10 minutes at first)"
    )
    up = verbs.add_parser(
        "up", help="start a cluster; prints the path of its kubeconfig"
    )
    up.add_argument("--nodes", type=int, default=1)
    up.add_argument(
        "--image", action="append", default=[], help="of Docker, for every node"
    )
    verbs.add_parser("down", help="end the cluster, whoever started it")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        {"setup": _setup, "up": _up, "down": _down}[options.verb](options)
    except programs.Unavailable as error:
        print(error, file=sys.stderr)
        return 69
    print(f"{options.verb}: {time.monotonic() - began:.1f} s", file=sys.stderr)
    return 0


def _setup(_options: argparse.Namespace) -> None:
    for name, version in programs.versions(programs.provide()).items():
        print(f"{name}: {version}", file=sys.stderr)


def _up(options: argparse.Namespace) -> None:
    started = cluster.up(options.nodes, by_hand=True)
    started.load(*options.image)
    print(started.kubeconfig)


def _down(_options: argparse.Namespace) -> None:
    leftovers.remove()


if __name__ == "__main__":
    sys.exit(main())

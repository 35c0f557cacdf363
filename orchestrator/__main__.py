"""`python -m orchestrator` is `tierbench`."""

from orchestrator.cli import main

main()

"""`python -m orchestrator` is `tierbench`."""

from orchestrator.cli.main import main

main()

"""The command line: commands, progress on the console, set-up of a machine."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the project folder

"""Files and options become a plan. Pure but for reading the project's own files."""

"""The keys of YAML files: what may be written, and reading it strictly; and how files of
others are opened."""

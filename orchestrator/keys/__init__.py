"""The keys of YAML files: what may be written, and reading it strictly. Pure."""

"""YugabyteDB, in containers of its official image."""

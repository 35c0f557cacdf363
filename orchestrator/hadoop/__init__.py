"""Reading a Hadoop file system: its servers' pages."""

"""The command line: commands, progress on the console, set-up of a machine."""

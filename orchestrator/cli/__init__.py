"""What a person types: commands, progress on the console, set-up of a machine."""

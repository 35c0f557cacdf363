"""What all commands share: options, the console, and what reaches outside of this program."""

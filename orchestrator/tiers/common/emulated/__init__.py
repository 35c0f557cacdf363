"""The emulated disk: its container, its files, what the machine did to it, standing ones."""

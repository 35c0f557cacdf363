"""The truth gate: fio on a tier's disk, and whether it is what the tier declares."""

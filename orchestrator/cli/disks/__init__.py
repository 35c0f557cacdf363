"""Commands for disks that stand, and for those of Kubernetes."""

"""Real disks: which one a path is, node directories, snapshots, restoring, cloud metadata."""

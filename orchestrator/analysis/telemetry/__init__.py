"""From counters of nodes and disks to what limited a run, in three rooms, each above the last:
`counters`, `use` of a node's resources, `causes`."""

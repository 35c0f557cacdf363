"""Where counters of a node are read from: the keys of `Node.sources` that no database has."""

NODE_EXPORTER = "node-exporter"
DISK_DEVICE = "disk-device"
PRESSURE = "node-exporter-pressure"
DISK_ACCOUNT = "disk-account"

"""Whether the disks of a campaign are what they claim: truth gates, burst credit, ended disks."""

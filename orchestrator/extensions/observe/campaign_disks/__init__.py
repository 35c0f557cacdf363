"""What a provider counted of the disks of a measured campaign, added to it afterwards."""

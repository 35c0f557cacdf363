"""What happens within the measured window: links and limits changed, nodes lost, disks slow."""

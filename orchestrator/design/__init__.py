"""What a campaign asks and stands on, before it is planned: factors, objectives, costs, and how
disks sit on nodes. Plan, verdict and page speak of these. Pure."""

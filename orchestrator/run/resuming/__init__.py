"""Going on with a campaign that ended before its plan did."""

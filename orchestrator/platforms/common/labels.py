"""Labels of all that a campaign makes, by which each platform finds and removes it."""

LABEL = "tierbench"
ROLE = "tierbench.role"
CAMPAIGN = "tierbench.campaign"
# Which computer made it, and which process there.
HOST = "tierbench.host"
PROCESS = "tierbench.process"
MARK = f"{LABEL}=1"

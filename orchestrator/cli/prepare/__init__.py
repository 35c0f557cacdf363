"""Commands that come before a campaign: files, tiers, prices, and what a machine lacks."""

"""Commands that show what was found: one campaign, or several of them."""

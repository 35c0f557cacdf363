"""Words around figures and names: sentences of ours, and texts of others."""

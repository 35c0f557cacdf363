"""How far a campaign has come: its events, what was judged so far, time left, and its status."""

"""One record per transaction → figures of a run."""

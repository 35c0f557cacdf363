"""The sections of a report, each made of blocks from the campaign and its verdict."""

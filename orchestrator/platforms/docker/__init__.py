"""A Docker engine, through docker-py: the only folder that imports it."""

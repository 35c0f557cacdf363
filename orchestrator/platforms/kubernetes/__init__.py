"""A Kubernetes cluster, through its official Python client: the only folder that imports it."""

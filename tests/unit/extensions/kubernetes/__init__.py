"""The Kubernetes platform, as far as it is pure."""

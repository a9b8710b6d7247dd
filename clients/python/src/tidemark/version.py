"""Generated: the service's version."""

VERSION = "0.9.0"

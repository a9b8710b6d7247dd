"""The version: here, and nowhere else."""

VERSION = "0.9.0"

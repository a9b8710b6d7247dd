"""Errors that pages show to the user."""


class ActionRefused(Exception):
    """An action that cannot be done; the text says why."""

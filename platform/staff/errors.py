"""What cannot be done to people who work here."""


class ActionRefused(Exception):
    """An order that cannot be carried out; the text says why, for the page that asked."""

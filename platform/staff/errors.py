"""What cannot be done to people who work here."""


class OrderRefused(Exception):
    """An order that cannot be carried out; the text says why, for the page that asked."""

"""Sanitizes texts from other servers for logs, pages and the database."""


def fit(text: str, most: int) -> str:
    """The text's beginning on one line, without control characters and what is no character."""
    cut = text[:most]
    return "".join(each if each.isprintable() else " " for each in cut).strip()

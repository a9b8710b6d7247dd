"""The examples of methods that Tidemark's clients have, as their pages show them."""

from typing import Any

BASE = "http://127.0.0.1:8000"


def method_samples(
    language: str, base: str = BASE, values: dict[str, Any] | None = None
) -> list[str]:
    """In this language, with these values."""
    # Here: conftest files import this one before Django is set up.
    from reference import operation_samples, pages

    found = [
        each.text
        for page in pages.PAGES
        for operation in pages.operations(page.slug).values()
        if operation_samples.has_clients(operation)
        for each in operation_samples.samples_of(operation, base, values or {})
        if each.id == language
    ]
    assert len(found) >= 30
    return found

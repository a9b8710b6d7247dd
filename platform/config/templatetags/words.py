"""Values in templates, said as the pages of the admin say them."""

from django import template

register = template.Library()


@register.filter
def in_words(value: object) -> str:
    """A value of the audit log: yes, no, a list with commas, a number as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(in_words, value)) or "nothing"
    return str(value)

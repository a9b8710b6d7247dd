"""What every page knows."""

from django.conf import settings
from django.http import HttpRequest


def version(request: HttpRequest) -> dict[str, str]:
    """A context processor: the version that pages show at their end."""
    return {"tidemark_version": settings.VERSION}

"""What every page knows."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def version(request: HttpRequest) -> dict[str, Any]:
    """A context processor: the version, and whether there is a status page, for a page's end."""
    return {"tidemark_version": settings.VERSION, "has_status_page": settings.STATUS_PAGE}

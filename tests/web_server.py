"""The web server of the whole service, as tests serve it (tests/webserver/serving.py)."""

from dataclasses import replace
from typing import Any

from webserver.worker import Worker


def service_worker(**limits: Any) -> Worker:
    """A worker of the whole service; limits other than the settings' by name."""
    from django.urls import get_resolver

    from config import web

    # As in a process of the service (config.web.serving): not by the first two calls at once.
    get_resolver().url_patterns  # noqa: B018
    worker = web.worker(1)
    worker.limits = worker.admission.limits = replace(worker.limits, **limits)
    return worker

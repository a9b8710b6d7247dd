"""The periodic Celery tasks of operations."""

import logging

from celery import shared_task
from django.conf import settings

from operations.services import watching
from shared_state import clock, task_faults
from shared_state.outages import until_next_call
from staff import provider
from staff.provider import ProviderRefused

log = logging.getLogger(__name__)


@shared_task
def watch_over_service() -> None:
    with until_next_call("watch_over_service", log):
        watching.watch(now=clock.now())


@shared_task
def check_sign_in_provider() -> None:
    """Keeps why no one can sign in by the provider, for `read_sign_in`."""
    if not provider.is_on():
        return
    try:
        with task_faults.noted("check_sign_in_provider"):
            provider.client().examine()
    except ProviderRefused as refusal:
        log.warning("no one can sign in by %s: %s", settings.OIDC_ISSUER, refusal)

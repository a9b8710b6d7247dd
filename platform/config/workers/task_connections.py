"""The database connection that a Celery pool process keeps from task to task."""

from celery.signals import task_postrun, task_prerun
from django.db import close_old_connections

from columns.raw_queries import close_lost_connection


@task_prerun.connect
def _drop_a_lost_one(**_: object) -> None:
    """After a restart of the database each pool process would fail one task."""
    close_lost_connection()


@task_postrun.connect
def _drop_an_old_one(**_: object) -> None:
    """One that is older than CONN_MAX_AGE, or that an error has left unusable."""
    close_old_connections()

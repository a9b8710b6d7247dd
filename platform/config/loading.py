"""What the preloaded image loads: every part of the application that programs share."""

import importlib
import threading

from django.core.management.base import BaseCommand, SystemCheckError
from django.db import connections
from django.urls import get_resolver

# Imported by what a Celery worker or beat does first, and by nothing else.
_OF_CELERY = (
    "billiard.popen_fork",
    "billiard.sharedctypes",
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "celery.events.receiver",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.strategy",
    "kombu.transport.redis",
    "config.celery_broker",
    "config.celery_worker",
    "config.clock",
)


class Loading:
    """Loads it in a thread, which ends before anything is forked."""

    def __init__(self) -> None:
        self._found = ""
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="loading")
        self._thread.start()

    def problem(self) -> str:
        """Waits until all is loaded; what the system checks find wrong, or nothing."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found

    def _run(self) -> None:
        try:
            self._found = _load()
        except BaseException as error:
            self._error = error
        finally:
            connections.close_all()


def _load() -> str:
    app = importlib.import_module("config.celery_app").app
    app.loader.import_default_modules()
    app.finalize()
    for name in _OF_CELERY:
        importlib.import_module(name)
    importlib.import_module("config.web")
    get_resolver().url_patterns  # noqa: B018  (loads every area)
    try:
        BaseCommand().check()
    except SystemCheckError as error:
        return str(error)
    importlib.import_module("config.warming").warm_up()
    return ""

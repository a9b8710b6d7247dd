"""What the first requests of a web process would load, loaded before it is forked.

No connection is opened here. Calls are warm by import alone: their methods' readers and writers are
compiled there. Pages have templates, and what Django imports when it is first needed.
"""

import importlib
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.template import engines
from django.urls import get_resolver
from django.utils.formats import get_format

from config.wsgi import application
from gateway.routes import endpoint_at
from reference import pages
from reference.highlighting import highlighted
from reference.snippets import first_reads

# By the names that settings and checks have for them, so that no import statement shows them.
_LATE = (
    "django.conf.locale.en.formats",
    "django.conf.urls",
    "django.contrib.messages.storage.cookie",
    "django.contrib.messages.storage.fallback",
    "django.contrib.messages.storage.session",
    "django.contrib.sessions.serializers",
    "django.views.defaults",
    "historical.services.readiness",
    "ingest.readiness",
    "operations.readiness",
)
# Of Django's and its theme's, beside all of our own.
_TEMPLATES = ("admin/login.html", "admin/base_site.html", "admin/index.html")


@cache
def warm_up() -> None:
    """Loads every area's paths, templates, and what each kind of request takes; once in a process
    and its forks.
    """
    get_resolver().url_patterns  # noqa: B018  (loads every area)
    application.load_middleware()
    for name in _LATE:
        importlib.import_module(name)
    endpoint_at("/")
    client_of_cache: Any = caches["default"]
    client_of_cache.client  # noqa: B018
    get_format("DATETIME_FORMAT")
    engine: Any = engines["django"]
    engine.engine.template_context_processors  # noqa: B018
    for template in _templates():
        engine.get_template(template)
    for each in first_reads(settings.PUBLIC_URL):
        highlighted(each["text"], each["lexer"])
    pages.plain_gets()
    for page in pages.PAGES:
        pages.sections(page.slug)


def _templates() -> Iterator[str]:
    folder = settings.ROOT / "templates"
    for path in sorted(folder.rglob("*.html")):
        yield str(path.relative_to(folder))
    yield from _TEMPLATES

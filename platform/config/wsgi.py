"""The WSGI application: every HTTP endpoint, the pages and the admin.

`manage.py serve` serves it. Under another WSGI server streams of events are not available.
"""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from gateway.wsgi import EndpointsFirst  # noqa: E402  (imports models)

application = EndpointsFirst()

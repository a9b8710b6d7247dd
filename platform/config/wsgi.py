"""The WSGI application: every HTTP door, and the admin."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from access import heartbeats  # noqa: E402  (reads settings: after the setup)
from gateway.wsgi import RpcFirst  # noqa: E402  (imports models)
from operations.services.watching import stand_in  # noqa: E402

application = RpcFirst()
heartbeats.start("web", also=stand_in)

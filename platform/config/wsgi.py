"""The WSGI application: every HTTP door, and the admin."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

from gateway.wsgi import RpcFirst  # noqa: E402  (imports models: after the setup)

application = RpcFirst()

"""The paths of the management API."""

from django.urls import URLPattern, URLResolver
from rest_framework.routers import SimpleRouter

from management.views.keys import Keys

app_name = "management"

_router = SimpleRouter(trailing_slash=False, use_regex_path=False)
for _prefix, _view in (("keys", Keys),):
    _router.register(_prefix, _view, basename=_prefix)

urlpatterns: list[URLPattern | URLResolver] = [*_router.urls]

"""PagesAdmin: pages of an admin besides lists and rows, and buttons on the page of a row."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from staff.pages import StaffAdmin


class OwnPage(NamedTuple):
    """A page at `route` below the list, by the name of its URL: `view` is called with the admin,
    the request, and what the route has. Without a permission it is for users who may view the
    model.
    """

    route: str
    name: str
    view: Callable[..., HttpResponseBase]
    permission: str = ""


class PagesAdmin(StaffAdmin):
    """`row_buttons` are the list's actions for one row, each by the last part of its address."""

    own_pages: ClassVar[tuple[OwnPage, ...]] = ()
    row_buttons: ClassVar[Mapping[str, str]] = {}

    def get_urls(self) -> list[URLPattern]:
        model = f"{self.opts.app_label}_{self.opts.model_name}"
        pages = [
            path(page.route, self.admin_site.admin_view(partial(self._open, page)), name=page.name)
            for page in self.own_pages
        ]
        buttons = [
            path(f"<int:pk>/{name}/", self.button(act), name=f"{model}_{name.replace('-', '_')}")
            for name, act in self.row_buttons.items()
        ]
        return [*pages, *buttons, *super().get_urls()]

    def _open(self, page: OwnPage, request: HttpRequest, **given: Any) -> HttpResponseBase:
        needed = page.permission
        may = request.user.has_perm(needed) if needed else self.has_view_permission(request)
        if not may:
            raise PermissionDenied
        return page.view(self, request, **given)

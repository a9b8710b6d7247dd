"""AdminAction: an action of staff on one row, with its confirmation page."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.urls import URLPattern, path, reverse
from unfold.decorators import action as theme_action

from staff import audit
from staff.errors import ActionRefused
from staff.pages import StaffAdmin


def always(request: HttpRequest, row: Any) -> str:
    """Can be done at any time."""
    return ""


@dataclass(frozen=True, slots=True)
class AdminAction:
    """`effect` is on the confirmation page; `why_not` returns why it cannot be done now, or "".
    `run` does it, in one transaction with the audit entry (`verb`; if that is empty, `run` writes
    the entry). What `run` returns goes to `said`, the message afterwards; with `logs` it is the
    entry's text, and "" means that nothing was done (`in_vain`); with `shows` the admin's
    `result_page` shows it. The link to it takes `has_{permission}_permission`.
    """

    name: str
    title: str
    effect: str | Callable[[Any], str]
    verb: str
    run: Callable[[HttpRequest, Any], Any]
    why_not: Callable[[HttpRequest, Any], str] = always
    said: Callable[[Any, Any], str] | str = ""
    in_vain: str = ""
    icon: str = ""
    asks: bool = True
    logs: bool = False
    shows: bool = False
    danger: bool = False
    permission: str = "act"


def theme_link(
    name: str, title: str, icon: str, permission: str, address: Callable[[Any, int], str]
) -> Any:
    """A link at the top of a row's page, to `address(admin, id of the row)`."""

    def lead(admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
        return HttpResponseRedirect(address(admin, int(object_id)))

    lead.__name__ = name  # by which the theme knows it
    return theme_action(description=title, icon=icon, permissions=[permission])(lead)


class ActionsAdmin(StaffAdmin):
    """Each of `admin_actions` has a page below the row's: GET asks for confirmation, POST does it.
    Those with an icon are links at the top of the row's page, while they can be done.
    """

    admin_actions: ClassVar[tuple[AdminAction, ...]] = ()
    action_path: ClassVar[str] = "<int:pk>/order/<slug:name>/"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        linked = [each for each in cls.admin_actions if each.icon]
        for each in linked:
            link = theme_link(
                each.name, each.title, each.icon, each.permission, partial(_address, each.name)
            )
            setattr(cls, each.name, link)
        cls.actions_detail = tuple(each.name for each in linked)

    # --- hooks ---

    def action_rows(self, request: HttpRequest) -> Any:
        return self.get_queryset(request)

    def may_act(self, request: HttpRequest, row: Any) -> bool:
        return bool(self.has_change_permission(request, row))

    def facts(self, row: Any) -> list[tuple[str, Any]]:
        """Rows of the confirmation page."""
        return []

    def result_page(
        self, request: HttpRequest, action: AdminAction, row: Any, result: Any
    ) -> HttpResponse:
        raise NotImplementedError

    def after_action(self, row: Any) -> str:
        """The address of the next page."""
        return self.page_of(row.pk)

    def action_address(self, name: str, pk: int) -> str:
        """The address of the confirmation page."""
        page = f"admin:{self.opts.app_label}_{self.opts.model_name}_order"
        return reverse(page, args=[pk, name])

    # --- the page ---

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_order"
        return [
            path(self.action_path, self.admin_site.admin_view(self.action_view), name=name),
            *super().get_urls(),
        ]

    def action_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        action = next((each for each in self.admin_actions if each.name == name), None)
        if action is not None and not action.asks and request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = self.action_rows(request).filter(pk=pk).first()
        if action is None or row is None:
            raise Http404
        if not self.may_act(request, row):
            raise PermissionDenied
        why_not = action.why_not(request, row)
        if request.method == "POST" and not (why_not and action.asks):
            return self._act(request, action, row)
        context = {
            "title": action.title,
            "subject": row,
            "effect": action.effect if isinstance(action.effect, str) else action.effect(row),
            "facts": self.facts(row),
            "why_not": why_not,
            "back": self.after_action(row),
        }
        return self.page(request, "admin/confirmation.html", context)

    def _act(self, request: HttpRequest, action: AdminAction, row: Any) -> HttpResponse:
        back = HttpResponseRedirect(self.after_action(row))
        try:
            with transaction.atomic():
                result = action.run(request, row)
                is_done = bool(result) or not action.logs
                if is_done and action.verb:
                    audit.record(request, action.verb, row, text=result if action.logs else "")
        except ActionRefused as refusal:
            messages.error(request, str(refusal))
            return back
        if action.shows:
            return self.result_page(request, action, row, result)
        if not is_done:
            messages.warning(request, f"{row}: {action.in_vain}")
            return back
        text = action.said(row, result) if callable(action.said) else action.said
        messages.success(request, text or f"{row}: {action.verb}")
        return back

    # --- the theme's links ---

    def has_act_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        row = self.get_object(request, str(object_id))
        return row is not None and self.may_act(request, row)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Those that can be done now."""
        row = self.get_object(request, str(object_id))
        fit = {
            each.name
            for each in self.admin_actions
            if row is not None and not each.why_not(request, row)
        }
        allowed = super().get_actions_detail(request, object_id)
        return [each for each in allowed if each.method.original_function_name in fit]


def _address(name: str, admin: ActionsAdmin, pk: int) -> str:
    return admin.action_address(name, pk)

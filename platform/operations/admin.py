"""Alarms: what needs somebody, what needed somebody, and who is at it."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import SimpleListFilter
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.paginator import InfinitePaginator

from access.admin.read_only import ReadOnlyAdmin
from operations.home.page import page_to_act
from operations.models import Alarm
from operations.rules import BY_NAME
from operations.services import alarms
from staff import audit
from staff.formatting import ago, badge, duration


class StandingFilter(SimpleListFilter):
    """Open ones, unless asked for others."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "Open"), ("closed", "Closed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Alarm]) -> QuerySet[Alarm]:
        if self.value() in ("open", "closed"):
            return queryset.filter(closed_at__isnull=self.value() == "open")
        return queryset


@admin.register(Alarm)
class AlarmAdmin(ReadOnlyAdmin):
    list_display = ("what", "level", "told", "began", "standing", "seen")
    list_display_links = ("what",)
    list_filter = (StandingFilter, "severity")
    list_per_page = 50
    paginator = InfinitePaginator
    show_full_result_count = False
    ordering = (F("closed_at").desc(nulls_first=True), "-pk")
    actions = ("acknowledge",)
    change_form_outer_after_template = "admin/operations/alarm/orders.html"
    fieldsets = ((None, {"fields": ("what", "level", "told", "advice", "standing", "seen")}),)
    readonly_fields = ("what", "level", "told", "advice", "standing", "seen")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alarm]:
        # Conditions that have not held for long enough are nobody's business yet.
        found: QuerySet[Alarm] = super().get_queryset(request).filter(opened_at__isnull=False)
        return found.select_related("acknowledged_by")

    def get_urls(self) -> list[URLPattern]:
        order = path(
            "<int:alarm_id>/acknowledge/",
            self.admin_site.admin_view(self.acknowledge_one),
            name="operations_alarm_acknowledge",
        )
        return [order, *super().get_urls()]

    # --- orders ---

    def has_acknowledge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("operations.change_alarm")

    @admin.action(description="Acknowledge: I am at it", permissions=["acknowledge"])
    def acknowledge(self, request: HttpRequest, queryset: QuerySet[Alarm]) -> None:
        rows = list(queryset)
        count = sum(self._acknowledge(request, alarm) for alarm in rows)
        noun = "alarm is" if count == 1 else "alarms are"
        others = "" if count == len(rows) else " The others are closed, or somebody is at them."
        messages.success(request, f"{count} {noun} yours now.{others}")

    def acknowledge_one(self, request: HttpRequest, alarm_id: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_acknowledge_permission(request):
            raise PermissionDenied
        alarm = self.get_queryset(request).filter(pk=alarm_id).first()
        if alarm is None:
            raise Http404
        if self._acknowledge(request, alarm):
            messages.success(request, f"“{title_of(alarm)}” is yours now.")
        else:
            messages.warning(request, "It is closed, or somebody is at it already.")
        return HttpResponseRedirect(reverse("admin:operations_alarm_change", args=[alarm.pk]))

    def _acknowledge(self, request: HttpRequest, alarm: Alarm) -> bool:
        with transaction.atomic():
            user_id = request.user.pk
            assert user_id is not None
            if not alarms.acknowledge(alarm.pk, user_id=user_id, now=timezone.now()):
                return False
            audit.record(request, "acknowledged", alarm, text=alarm.text)
        return True

    # --- what is shown ---

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        alarm = Alarm.objects.filter(pk=object_id).first() if object_id.isdecimal() else None
        if alarm is None:
            return {}
        waits = alarm.closed_at is None and alarm.acknowledged_at is None
        return {
            "title": title_of(alarm),
            "page": page_to_act(request, alarm),
            "may_acknowledge": waits and self.has_acknowledge_permission(request),
        }

    @admin.display(description="alarm", ordering="name")
    def what(self, alarm: Alarm) -> str:
        return f"{title_of(alarm)}: {alarm.subject}" if alarm.subject else title_of(alarm)

    @admin.display(description="severity", ordering="severity")
    def level(self, alarm: Alarm) -> SafeString:
        hue = "bad" if alarm.severity == Alarm.Severity.CRITICAL else "warning"
        return badge(alarm.severity, hue if alarm.closed_at is None else "quiet")

    @admin.display(description="what is the matter")
    def told(self, alarm: Alarm) -> str:
        return alarm.text

    @admin.display(description="what to do")
    def advice(self, alarm: Alarm) -> str:
        rule = BY_NAME.get(alarm.name)
        return "-" if rule is None else rule.advice

    @admin.display(description="since", ordering="began_at")
    def began(self, alarm: Alarm) -> SafeString | str:
        return ago(alarm.began_at)

    @admin.display(description="state", ordering="closed_at")
    def standing(self, alarm: Alarm) -> SafeString:
        now = timezone.now()
        if alarm.closed_at is None:
            began = ago(alarm.began_at, now)
            return format_html("<span>{} since {}</span>", badge("open", "bad"), began)
        lasted = duration(alarm.closed_at - alarm.began_at)
        closed = ago(alarm.closed_at, now)
        return format_html("<span>{} {}, after {}</span>", badge("closed", "good"), closed, lasted)

    @admin.display(description="who is at it", ordering="acknowledged_at")
    def seen(self, alarm: Alarm) -> SafeString | str:
        if alarm.acknowledged_at is None:
            return "nobody yet" if alarm.closed_at is None else "-"
        when = ago(alarm.acknowledged_at)
        return format_html("<span>{}, {}</span>", alarm.acknowledged_by or "somebody", when)


def title_of(alarm: Alarm) -> str:
    """The rule's title; a rule of an older version is told by its name."""
    rule = BY_NAME.get(alarm.name)
    return alarm.name if rule is None else rule.title

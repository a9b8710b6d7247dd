"""Alarms: open ones, closed ones, and who acknowledged them."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from operations.home import fixes
from operations.home.problems import page_to_act
from operations.mail_button import TEST_MAIL
from operations.models import Alarm
from operations.readings.present import present
from operations.rules.table import BY_NAME
from operations.rules_page import RULES_PAGE
from operations.services import alarms
from operations.sizing_page import SIZING
from shared_state import clock
from staff import audit
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, counted, duration
from staff.own_pages import PagesAdmin
from staff.read_only import LongListAdmin

StateFilter = choice_filter(
    "state",
    "state",
    {"open": ("Open", Q(closed_at__isnull=True)), "closed": ("Closed", Q(closed_at__isnull=False))},
)


@admin.register(Alarm)
class AlarmAdmin(PagesAdmin, LongListAdmin):
    own_pages = (SIZING, RULES_PAGE, TEST_MAIL)
    list_before_template = "admin/operations/alarm/rules_link.html"
    list_display = ("what", "level", "problem", "began", "state", "seen")
    list_filter = (StateFilter, "severity")
    ordering = (F("closed_at").desc(nulls_first=True), "-pk")
    actions = ("acknowledge",)
    row_buttons: ClassVar = {"acknowledge": "acknowledge"}
    change_form_outer_after_template = "admin/operations/alarm/row_actions.html"
    fields = ("what", "level", "problem", "advice", "state", "seen")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alarm]:
        # Without conditions that have not held for long enough to be alarms.
        found: QuerySet[Alarm] = super().get_queryset(request).filter(opened_at__isnull=False)
        return found.select_related("acknowledged_by")

    # --- actions ---

    @admin.action(description="Acknowledge", permissions=["act"])
    def acknowledge(self, request: HttpRequest, queryset: QuerySet[Alarm]) -> None:
        rows = list(queryset)
        count = sum(self._acknowledge(request, alarm) for alarm in rows)
        others = "" if count == len(rows) else " The others are closed or acknowledged already."
        level = messages.SUCCESS if count else messages.WARNING
        messages.add_message(request, level, f"Acknowledged {counted(count, 'alarm')}.{others}")

    def _acknowledge(self, request: HttpRequest, alarm: Alarm) -> bool:
        with transaction.atomic():
            user_id = request.user.pk
            assert user_id is not None
            if not alarms.acknowledge(alarm.pk, user_id=user_id, now=timezone.now()):
                return False
            audit.record(request, "acknowledged", alarm, text=alarm.text)
        return True

    # --- what is shown ---

    def beside_fields(self, request: HttpRequest, row: Alarm) -> dict[str, Any]:
        waits = row.closed_at is None and row.acknowledged_at is None
        return {
            "title": title_of(row),
            "rule": BY_NAME.get(row.name),
            "crumb": f"{title_of(row)}: {row.subject}" if row.subject else title_of(row),
            "page": page_to_act(request, row.name, row.subject),
            **_fixes(request, row),
            "may_acknowledge": waits and self.has_act_permission(request),
        }

    what = column(
        "alarm",
        lambda row: f"{title_of(row)}: {row.subject}" if row.subject else title_of(row),
        "name",
    )

    @admin.display(description="severity", ordering="severity")
    def level(self, alarm: Alarm) -> SafeString:
        hue = "bad" if alarm.severity == Alarm.Severity.CRITICAL else "warning"
        return badge(alarm.severity, hue if alarm.closed_at is None else "quiet")

    problem = column("problem", lambda row: row.text)

    @admin.display(description="what to do")
    def advice(self, alarm: Alarm) -> str:
        rule = BY_NAME.get(alarm.name)
        return "-" if rule is None else rule.advice

    began = column("since", lambda row: ago(row.began_at), "began_at")

    @admin.display(description="state", ordering="closed_at")
    def state(self, alarm: Alarm) -> SafeString:
        now = timezone.now()
        if alarm.closed_at is None:
            began = ago(alarm.began_at, now)
            return format_html("<span>{} since {}</span>", badge("open", "bad"), began)
        lasted = duration(alarm.closed_at - alarm.began_at)
        closed = ago(alarm.closed_at, now)
        return format_html("<span>{} {}, after {}</span>", badge("closed", "good"), closed, lasted)

    @admin.display(description="acknowledged", ordering="acknowledged_at")
    def seen(self, alarm: Alarm) -> SafeString | str:
        if alarm.acknowledged_at is None:
            return "not yet" if alarm.closed_at is None else "-"
        when = ago(alarm.acknowledged_at)
        return format_html(
            "<span>{}, {}</span>", alarm.acknowledged_by or "a former user or a root key", when
        )


def _fixes(request: HttpRequest, alarm: Alarm) -> dict[str, Any]:
    """The buttons and commands that home has; none for a closed alarm."""
    rule = BY_NAME.get(alarm.name) if alarm.closed_at is None else None
    if rule is None or not request.user.has_perm("operations.change_alarm"):
        return {}
    readings = present(clock.now())
    return {
        "fixes": fixes.buttons(request, rule.buttons(alarm.subject, readings)),
        "commands": rule.commands(alarm.subject, readings),
    }


def title_of(alarm: Alarm) -> str:
    """The rule's title, or its name if this version does not have the rule."""
    rule = BY_NAME.get(alarm.name)
    return alarm.name if rule is None else rule.title

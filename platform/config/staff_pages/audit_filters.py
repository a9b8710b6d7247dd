"""The filters of the audit log."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from columns.queries import all_rows
from staff.filters import value_filter
from staff.models import AuditEntry
from staff.parsing import id_in

Entries = QuerySet[AuditEntry]
# People, verbs or kinds to choose among.
_MOST = 100
_SPANS = {
    "hour": ("last hour", timedelta(hours=1)),
    "day": ("last 24 hours", timedelta(days=1)),
    "week": ("last 7 days", timedelta(days=7)),
    "month": ("last 30 days", timedelta(days=30)),
}
_WITHOUT_USER = {
    "nobody": "not signed in",
    "command": "command line",
    "customers": "customers' users",
}


class TimeFilter(admin.SimpleListFilter):
    """A span up to now, or from one day to another (UTC, both included)."""

    title = "time"
    parameter_name = "when"
    template = "admin/staff/time_filter.html"

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        for name in ("from", "until"):
            if name in params:
                self.used_parameters[name] = params.pop(name)[-1]
        self.days = {name: _day(self.used_parameters.get(name)) for name in ("from", "until")}
        own = {*self.expected_parameters(), "p"}
        self.others = [
            (name, value)
            for name, values in request.GET.lists()
            for value in values
            if name not in own
        ]

    def expected_parameters(self) -> list[str | None]:
        return ["when", "from", "until"]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, text) for name, (text, _) in _SPANS.items()]

    def queryset(self, request: HttpRequest, queryset: Entries) -> Entries:
        span = _SPANS.get(self.value() or "")
        first, last = self.days["from"], self.days["until"]
        if span is not None:
            queryset = _since(queryset, timezone.now() - span[1])
        if first is not None:
            queryset = _since(queryset, _midnight(first))
        if last is not None:
            queryset = _before(queryset, _midnight(last) + timedelta(days=1))
        return queryset

    def choices(self, changelist: Any) -> Iterator[Any]:
        """As Django's; a span takes the place of two days."""
        of_days = any(self.days.values())
        remove = ["from", "until"]
        yield {
            "selected": self.value() is None and not of_days,
            "query_string": changelist.get_query_string(remove=[*remove, "when"]),
            "display": "All",
        }
        for name, text in self.lookup_choices:
            yield {
                "selected": self.value() == name,
                "query_string": changelist.get_query_string({"when": name}, remove),
                "display": text,
            }


class PersonFilter(admin.SimpleListFilter):
    title = "person"
    parameter_name = "person"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        staff = User.objects.filter(is_staff=True).order_by("username")
        people = [(str(pk), name) for pk, name in staff.values_list("pk", "username")[:_MOST]]
        return [*people, *_WITHOUT_USER.items()]

    def queryset(self, request: HttpRequest, queryset: Entries) -> Entries:
        chosen = self.value() or ""
        if chosen in ("nobody", "command"):
            who = "nobody" if chosen == "nobody" else "command line"
            return queryset.filter(user__isnull=True, who=who)
        if chosen == "customers":
            return queryset.filter(user__in=User.objects.filter(is_staff=False))
        pk = id_in(chosen)
        return queryset if pk is None else queryset.filter(user_id=pk)


VerbFilter = value_filter(
    "what was done", "verb", lambda: [(verb, verb) for verb in _values("verb")]
)
SubjectFilter = value_filter(
    "to what kind",
    "subject_type",
    lambda: sorted(
        ((name, _kind(name)) for name in _values("subject_type") if name),
        key=lambda choice: choice[1],
    ),
)


# Entries are written in the order of their numbers, and their moments are of shortly before: with
# the numbers around a span, the list is a piece of the table, in its order.
_WAITED = timedelta(minutes=1)


def _since(entries: Entries, moment: datetime) -> Entries:
    near = AuditEntry.objects.filter(at__gte=moment - _WAITED).order_by("at")
    first = near.values_list("pk", flat=True).first()
    return (
        entries.none() if first is None else entries.filter(at__gte=moment, pk__gte=first - 1_000)
    )


def _before(entries: Entries, moment: datetime) -> Entries:
    near = AuditEntry.objects.filter(at__lt=moment + _WAITED).order_by("-at")
    last = near.values_list("pk", flat=True).first()
    return entries.none() if last is None else entries.filter(at__lt=moment, pk__lte=last + 1_000)


def _values(column: str) -> list[str]:
    """The different values of an indexed column, one step of the index each: the log is kept for
    good, and DISTINCT would read it whole.
    """
    table, quoted = AuditEntry._meta.db_table, connection.ops.quote_name(column)
    first = f"SELECT min({quoted}) FROM {table}"
    rows = all_rows(
        f"WITH RECURSIVE found(value) AS (({first}) UNION ALL"
        f" SELECT ({first} WHERE {quoted} > found.value) FROM found"
        f" WHERE found.value IS NOT NULL)"
        f" SELECT value FROM found WHERE value IS NOT NULL LIMIT {_MOST}"
    )
    return [value for (value,) in rows]


def _kind(name: str) -> str:
    app, _, model = name.partition(".")
    try:
        found = apps.get_model(app, model)
    except LookupError:
        return name
    return f"{found._meta.verbose_name} ({app})"


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)

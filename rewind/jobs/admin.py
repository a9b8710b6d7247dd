"""Simulation jobs: their progress, and cancelling them."""

from datetime import timedelta

import msgspec
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from access.admin.key_names import key_link, with_key_names
from rewind.jobs.models import SimulationJob
from rewind.jobs.services import submitting
from rewind.jobs.services.requests import read_request
from staff.columns import column
from staff.filters import value_filter
from staff.formatting import ago, counted, duration, grouped, progress, size_of
from staff.read_only import ReadOnlyAdmin
from staff.states import state_badge


def _tiers() -> list[tuple[str, str]]:
    tiers = SimulationJob.objects.order_by("tier").values_list("tier", flat=True).distinct()
    return [(tier, tier) for tier in tiers[:50]]


@admin.register(SimulationJob)
class SimulationJobAdmin(ReadOnlyAdmin):
    list_display = ("name", "key", "tier", "standing", "progress", "errors", "came", "took")
    list_filter = ("state", value_filter("tier", "tier", _tiers))
    ordering = ("-submitted_at",)
    search_fields = ("id", "client_reference")
    search_help_text = "A job's id or its caller's reference"
    actions = ["cancel_jobs"]
    fieldsets = (
        (None, {"fields": ("whole_name", "key", "tier", "reference", "standing", "why")}),
        ("Simulations", {"fields": ("asked", "progress", "errors", "size")}),
        ("Times", {"fields": ("came", "began", "ended", "took", "expires", "turns")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SimulationJob]:
        queryset: QuerySet[SimulationJob] = super().get_queryset(request)
        # What a job asks for may be a quarter of a megabyte: its own page alone reads it.
        return with_key_names(queryset.defer("request"))

    # --- actions ---

    @admin.action(description="Cancel", permissions=["act"])
    def cancel_jobs(self, request: HttpRequest, queryset: QuerySet[SimulationJob]) -> None:
        chosen = list(queryset.values_list("pk", flat=True))
        cancelled = submitting.cancel_all(
            chosen, now=timezone.now(), keep_hours=settings.SIMULATION_JOB_HOURS
        )
        messages.success(
            request, f"{counted(cancelled, 'job')} cancelled; the others had finished."
        )

    # --- what is shown ---

    name = column(
        "job", lambda row: format_html('<code title="{}">{}</code>', row.pk, str(row.pk)[:8])
    )
    whole_name = column("job", lambda row: format_html("<code>{}</code>", row.pk))
    key = column("key", key_link)
    reference = column("caller's reference", lambda row: row.client_reference or "-")
    standing = column("state", lambda row: state_badge(row.state, row.failure), "state")
    why = column("failure", lambda row: row.failure or "-")
    progress = column("progress", lambda row: progress(row.done, row.total))
    errors = column("errors", lambda row: grouped(row.failed) if row.failed else "none", "failed")
    size = column("results take", lambda row: size_of(row.stored_bytes))

    @admin.display(description="asks for")
    def asked(self, job: SimulationJob) -> str:
        if not job.request:
            return "deleted with the results"
        try:
            request = read_request(job.request)
        except msgspec.ValidationError:
            return "cannot be read"
        what = "signature" if request.texts is None else "transaction"
        own = request.positions is None and not request.range.count
        where = "its own place" if own else counted(request.positions_each, "position")
        return f"{counted(len(request.signatures), what)}, each at {where}"

    came = column("submitted", lambda row: ago(row.submitted_at), "submitted_at")
    began = column("first turn", lambda row: ago(row.started_at, never="not yet"))
    ended = column("over since", lambda row: ago(row.finished_at, never="not yet"))

    @admin.display(description="took")
    def took(self, job: SimulationJob) -> str:
        if job.started_at is None:
            return "-"
        until = job.finished_at or timezone.now()
        return duration(max(until - job.started_at, timedelta()))

    expires = column("results are deleted", lambda row: ago(row.expires_at, never="-"))
    turns = column("turns of workers", lambda row: grouped((row.turn + 1) // 2))

"""Simulation jobs: how far they are, and calling them off."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.admin.key_names import with_key_names
from access.admin.read_only import ReadOnlyAdmin
from rewind.models import SimulationJob
from rewind.services.jobs import submitting
from rewind.services.jobs.requests import read_request
from staff.formatting import ago, badge, duration, grouped, size_of

State = SimulationJob.State
_HUES = {
    State.QUEUED: "quiet",
    State.RUNNING: "warning",
    State.DONE: "good",
    State.CANCELLED: "quiet",
    State.FAILED: "bad",
}


class TierFilter(admin.SimpleListFilter):
    title = "tier"
    parameter_name = "tier"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        tiers = SimulationJob.objects.order_by("tier").values_list("tier", flat=True).distinct()
        return [(tier, tier) for tier in tiers[:50]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(tier=self.value())


@admin.register(SimulationJob)
class SimulationJobAdmin(ReadOnlyAdmin):
    list_display = ("name", "key", "tier", "standing", "progress", "errors", "came", "took")
    list_display_links = ("name",)
    list_filter = ("state", TierFilter)
    list_per_page = 50
    ordering = ("-submitted_at",)
    search_fields = ("id", "client_reference")
    search_help_text = "A job's id or its caller's reference"
    actions = ["cancel_jobs"]
    fieldsets = (
        (None, {"fields": ("whole_name", "key", "tier", "reference", "standing", "why")}),
        ("Simulations", {"fields": ("asked", "progress", "errors", "size")}),
        ("Times", {"fields": ("came", "began", "ended", "took", "expires", "turns")}),
    )
    readonly_fields = (
        *("whole_name", "key", "tier", "reference", "standing", "why"),
        *("asked", "progress", "errors", "size"),
        *("came", "began", "ended", "took", "expires", "turns"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SimulationJob]:
        queryset: QuerySet[SimulationJob] = super().get_queryset(request)
        # What a job asks for may be a quarter of a megabyte: its own page alone reads it.
        return with_key_names(queryset.defer("request"))

    # --- orders ---

    def has_cancel_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return request.user.has_perm("rewind.change_simulationjob")

    @admin.action(description="Cancel", permissions=["cancel"])
    def cancel_jobs(self, request: HttpRequest, queryset: QuerySet[SimulationJob]) -> None:
        chosen = list(queryset.values_list("pk", flat=True))
        cancelled = submitting.cancel_all(
            chosen, now=timezone.now(), keep_hours=settings.SIMULATION_JOB_HOURS
        )
        noun = "job is" if cancelled == 1 else "jobs are"
        messages.success(request, f"{cancelled} {noun} cancelled; others were over.")

    # --- what is shown ---

    @admin.display(description="job")
    def name(self, job: SimulationJob) -> SafeString:
        return format_html('<code title="{}">{}</code>', job.pk, str(job.pk)[:8])

    @admin.display(description="job")
    def whole_name(self, job: SimulationJob) -> SafeString:
        return format_html("<code>{}</code>", job.pk)

    @admin.display(description="key")
    def key(self, job: Any) -> SafeString | str:
        if job.key_name is None:
            return f"deleted key {job.key_id}"
        link = reverse("admin:access_apikey_change", args=[job.key_id])
        return format_html('<a class="tm-link" href="{}">{}</a>', link, job.key_name)

    @admin.display(description="caller's reference")
    def reference(self, job: SimulationJob) -> str:
        return job.client_reference or "-"

    @admin.display(description="state", ordering="state")
    def standing(self, job: SimulationJob) -> SafeString:
        return badge(job.state, _HUES[State(job.state)], job.failure)

    @admin.display(description="failure")
    def why(self, job: SimulationJob) -> str:
        return job.failure or "-"

    @admin.display(description="progress")
    def progress(self, job: SimulationJob) -> SafeString:
        return format_html(
            '<span class="tm-progress"><progress max="{}" value="{}">{}%</progress>'
            ' <span class="tm-nowrap">{} of {}</span></span>',
            job.total,
            job.done,
            100 * job.done // max(1, job.total),
            grouped(job.done),
            grouped(job.total),
        )

    @admin.display(description="errors", ordering="failed")
    def errors(self, job: SimulationJob) -> str:
        return grouped(job.failed) if job.failed else "none"

    @admin.display(description="results take")
    def size(self, job: SimulationJob) -> str:
        return size_of(job.stored_bytes)

    @admin.display(description="asks for")
    def asked(self, job: SimulationJob) -> str:
        if not job.request:
            return "deleted with the results"
        try:
            request = read_request(job.request)
        except (KeyError, TypeError, ValueError):
            return "cannot be read"
        each = request.positions_each
        transactions = len(request.signatures)
        what = "signature" if request.texts is None else "transaction"
        own = request.positions is None and not request.count
        where = "its own place" if own else f"{grouped(each)} position{'s'[: each != 1]}"
        plural = "s" if transactions != 1 else ""
        return f"{grouped(transactions)} {what}{plural}, each at {where}"

    @admin.display(description="submitted", ordering="submitted_at")
    def came(self, job: SimulationJob) -> SafeString | str:
        return ago(job.submitted_at)

    @admin.display(description="first turn")
    def began(self, job: SimulationJob) -> SafeString | str:
        return ago(job.started_at, never="not yet")

    @admin.display(description="over since")
    def ended(self, job: SimulationJob) -> SafeString | str:
        return ago(job.finished_at, never="not yet")

    @admin.display(description="took")
    def took(self, job: SimulationJob) -> str:
        if job.started_at is None:
            return "-"
        until = job.finished_at or timezone.now()
        return duration(max(until - job.started_at, timedelta()))

    @admin.display(description="results are deleted")
    def expires(self, job: SimulationJob) -> SafeString | str:
        return ago(job.expires_at, never="-")

    @admin.display(description="turns of workers")
    def turns(self, job: SimulationJob) -> str:
        return grouped((job.turn + 1) // 2)

"""Upstreams and their circuit breakers."""

from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.models import Tier
from priority.reports.landing_formats import percent
from priority.reports.services.landing import all_figures
from priority.upstreams.admin.upstream_activity import upstream_activity
from priority.upstreams.models import Upstream
from priority.upstreams.services import actions as orders
from priority.upstreams.services import editing
from staff import audit
from staff.actions import AdminAction
from staff.columns import column
from staff.formatting import badge, duration, utc
from staff.pages import StaffAdmin

Kind = Upstream.Kind


class UpstreamForm(forms.ModelForm):  # type: ignore[type-arg]
    """Refuses settings with which the upstream could not work."""

    tiers = forms.ModelMultipleChoiceField(
        queryset=Tier.objects.order_by("rank"),
        required=False,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "tm-box"}),
        help_text="Tiers that it serves; none chosen: all",
    )

    class Meta:
        model = Upstream
        fields = (
            "name",
            "kind",
            "url",
            "is_enabled",
            "tiers",
            "weight",
            "timeout_ms",
            "own_tip_lamports",
        )
        labels = {"is_enabled": "Enabled", "own_tip_lamports": "Own tip (lamports)"}
        help_texts = {
            "name": "Callers choose by it; “bundle” is reserved",
            "url": "URL of the node or the block engine; for leaders, of the node with the leader"
            " schedule. grpc:// or grpcs://: the gRPC of a block engine. Empty: those of the"
            " followed chain (the block engine: localnet's)",
            "weight": "Percent of submissions without chosen upstreams that go to it as well",
            "own_tip_lamports": "Block engines: what this service tips the engine, in a transaction"
            " of its own after the bundle's; 0 leaves tipping to the bundle",
        }

    def clean_name(self) -> str:
        return editing.checked_name(self.cleaned_data["name"], but=self.instance.pk)

    def clean_url(self) -> str:
        return editing.checked_url(self.cleaned_data["url"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("kind"):
            found = editing.problems(
                kind=cleaned["kind"],
                url=cleaned.get("url"),
                own_tip_lamports=cleaned.get("own_tip_lamports"),
            )
            for field, text in found.items():
                self.add_error(field, text)
        return cleaned


ACTIONS = (
    AdminAction(
        "enable",
        "Enable",
        "It accepts new submissions.",
        "enabled",
        lambda request, row: orders.enable(row.pk),
        lambda request, row: "enabled" if row.is_enabled and row.draining_since is None else "",
        said="Enabled",
        in_vain="already enabled",
    ),
    AdminAction(
        "drain",
        "Drain",
        "New submissions go elsewhere; those in progress continue.",
        "drained",
        lambda request, row: orders.drain(row.pk, now=timezone.now()),
        lambda request, row: "" if row.is_enabled and row.draining_since is None else "not in use",
        said="No new submissions go to",
        in_vain="disabled or drained already",
    ),
    AdminAction(
        "disable",
        "Disable",
        "Nothing more is sent to it, including submissions in progress.",
        "disabled",
        lambda request, row: orders.disable(row.pk),
        lambda request, row: "" if row.is_enabled else "disabled",
        said="Disabled",
        in_vain="disabled already",
    ),
    AdminAction(
        "reset_breaker",
        "Reset the circuit breaker",
        "It is retried at once.",
        "reset the breaker of",
        lambda request, row: orders.reset_breaker(row.pk, now=timezone.now()),
        lambda request, row: "closed" if row.broken_until is None else "",
        said="Retrying now",
        in_vain="no circuit breaker is open",
    ),
)


def _list_action(each: AdminAction) -> Any:
    """Done at once to the chosen rows, which landers read every second or two."""

    @admin.action(description=each.title, permissions=["change"])
    def act(model_admin: Any, request: HttpRequest, queryset: QuerySet[Upstream]) -> None:
        done = []
        with transaction.atomic():
            for upstream in queryset:
                if each.run(request, upstream):
                    audit.record(request, each.verb, upstream)
                    done.append(upstream.name)
        if done:
            text = f"{each.said}: {', '.join(done)}. Landers follow within two seconds."
            messages.success(request, text)
        else:
            messages.info(request, f"Nothing to do: {each.in_vain}.")
        if not Upstream.objects.filter(is_enabled=True, draining_since__isnull=True).exists():
            messages.warning(
                request, "No upstream is enabled: submissions accepted now will expire."
            )

    act.__name__ = each.name
    return act


@admin.register(Upstream)
class UpstreamAdmin(StaffAdmin):
    form = UpstreamForm
    list_display = (
        "name",
        "kind_name",
        "leads_to",
        "for_tiers",
        "share",
        "switched",
        "breaker",
        "activity",
    )
    list_filter = ("kind", "is_enabled")
    search_fields = ("name", "url")
    search_help_text = "Name or address"
    actions = [*map(_list_action, ACTIONS)]
    readonly_fields = ("breaker", "switched")
    change_form_outer_before_template = "admin/priority/upstream/row_actions.html"
    change_form_outer_after_template = "admin/priority/upstream/activity.html"
    fieldsets = (
        (None, {"fields": ("name", "kind", "url", "is_enabled")}),
        ("Routing", {"fields": ("tiers", "weight")}),
        ("Limits", {"fields": ("timeout_ms", "own_tip_lamports")}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return self.fieldsets
        state = ("Now", {"fields": ("switched", "breaker")})
        if self.has_change_permission(request, obj):
            return (state, *self.fieldsets)
        # Without the right to change only the host is shown: a URL may hold a key.
        shown = {"fields": ("name", "kind", "leads_to", "is_enabled")}
        return (state, (None, shown), *self.fieldsets[1:])

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        may_change = obj is None or self.has_change_permission(request, obj)
        return self.readonly_fields if may_change else (*self.readonly_fields, "leads_to")

    def get_search_fields(self, request: HttpRequest) -> Any:
        return self.search_fields if self.has_change_permission(request) else ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Upstream]:
        queryset: QuerySet[Upstream] = super().get_queryset(request)
        return queryset.prefetch_related("tiers")

    def complete_rows(self, rows: Any) -> None:
        figures = {each.name: each for each in all_figures(now=timezone.now())}
        for upstream in rows:
            upstream.figures = figures.get(upstream.name)

    def beside_fields(self, request: HttpRequest, row: Upstream) -> dict[str, Any]:
        may = self.has_change_permission(request, row)
        fit = {"actions": [each for each in ACTIONS if may and not each.why_not(request, row)]}
        return {**upstream_activity(row, now=timezone.now()), **fit}

    def save_model(self, request: HttpRequest, obj: Upstream, form: Any, change: bool) -> None:
        if "is_enabled" in form.changed_data:
            obj.draining_since = None
        super().save_model(request, obj, form, change)

    # --- what is shown ---

    kind_name = column("kind", lambda row: str(Kind(row.kind).label), "kind")

    @admin.display(description="leads to")
    def leads_to(self, upstream: Upstream) -> SafeString:
        url = upstream.url or editing.derived_url(upstream.kind)
        if not url:
            return badge("nowhere", "bad", editing.why_no_url(upstream.kind))
        # Only the host: a URL may hold a key in its path or query.
        own = "" if upstream.url else " (followed chain)"
        return format_html("<code>{}</code>{}", urlsplit(url).netloc.rpartition("@")[2], own)

    for_tiers = column(
        "tiers", lambda row: ", ".join(tier.name for tier in row.tiers.all()) or "all"
    )
    share = column("weight", lambda row: f"{row.weight}%", "weight")
    switched = column("state", lambda row: state_label(row), "is_enabled")

    @admin.display(description="last 24 hours")
    def activity(self, upstream: Any) -> SafeString | str:
        figures = getattr(upstream, "figures", None)
        if figures is None:
            return "no attempts"
        took = sum(figures.took.values())
        link = f"{reverse('admin:priority_landing')}?upstream={upstream.name}"
        rate = "" if figures.rate is None else f", {percent(figures.rate)} landed"
        text = f"{took:,} accepted{rate}"
        return format_html('<a class="tm-link" href="{}">{}</a>', link, text)

    @admin.display(description="circuit breaker", ordering="broken_until")
    def breaker(self, upstream: Upstream) -> SafeString:
        label = breaker_label(upstream, timezone.now())
        return format_html('{} <span class="tm-muted">{}</span>', label, upstream.broken_reason)


def state_label(upstream: Upstream) -> SafeString:
    """Whether it accepts new submissions, and how far it is drained."""
    if not upstream.is_enabled:
        return badge("disabled", "quiet", "Nothing is sent to it.")
    draining = orders.draining(upstream)
    if draining is None:
        return badge("enabled", "good", "It accepts new submissions.")
    since = f"No new submissions since {utc(draining.since, seconds=True)}"
    if draining.is_drained:
        hint = f"{since}; all earlier ones are settled: it can be disabled."
        return badge("drained", "quiet", hint)
    most = "at least " if draining.unsettled >= orders.MOST_COUNTED else ""
    hint = f"{since}; {most}{draining.unsettled:,} earlier ones are not settled yet."
    return badge(f"draining, {most}{draining.unsettled:,} in progress", "warning", hint)


def breaker_label(upstream: Upstream, now: datetime) -> SafeString:
    """Whether it is in use, and if not, until when; the reason is its hint."""
    until = upstream.broken_until
    if until is None:
        return badge("closed", "good", "In use.")
    if until <= now:
        hint = "One attempt tests whether it works again."
        return badge("half open", "warning", f"{upstream.broken_reason} {hint}".strip())
    hint = f"{upstream.broken_reason}, until {utc(until, seconds=True)}"
    return badge(f"open for {duration(until - now)}", "bad", hint)

"""The audit log's pages: the list, one entry, and its files."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest
from django.db.models import Max, QuerySet
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.staff_pages import audit_files
from config.staff_pages.audit_filters import PersonFilter, SubjectFilter, TimeFilter, VerbFilter
from config.templatetags.words import in_words
from staff import audit, audit_chain
from staff.columns import column
from staff.filters import newest_of
from staff.formatting import ago, badge, grouped, in_full, link, moment, timed
from staff.models import AuditEntry
from staff.own_pages import OwnPage, PagesAdmin
from staff.parsing import id_in
from staff.read_only import LongListAdmin

_HUES = (("failed", "bad"), ("deleted", "bad"), ("revoked", "bad"), ("signed", "quiet"))


@admin.register(AuditEntry)
class AuditEntryAdmin(PagesAdmin, LongListAdmin):
    own_pages = (
        OwnPage(
            "file/<slug:form>/",
            "staff_auditentry_file",
            lambda own, request, form: own.file(request, form),
        ),
    )
    list_display = ("when", "person", "what", "subject_link", "changed", "place")
    list_filter = (TimeFilter, PersonFilter, VerbFilter, SubjectFilter)
    list_before_template = "admin/staff/log.html"
    list_fullwidth = True
    list_select_related = ()
    search_fields = ("who", "subject", "text")
    search_help_text = "A name, what was done to, or a word of the text"
    change_form_outer_after_template = "admin/staff/entry.html"
    fieldsets = (
        (None, {"fields": ("moment", "person", "what", "subject_link", "words")}),
        ("From where", {"fields": ("place", "request_id")}),
        ("Proof", {"fields": ("number", "mark")}),
    )

    # --- what is shown ---

    when = column("when", lambda row: ago(row.at))
    words = column("text", lambda row: timed(row.text))
    moment = column(
        "when", lambda row: format_html("{} ({})", moment(row.at, seconds=True), ago(row.at))
    )

    @admin.display(description="who")
    def person(self, entry: AuditEntry) -> SafeString | str:
        if entry.user_id is None:
            hint = {"nobody": "not signed in", "command line": "a command on the server"}
            return format_html(
                '<span class="tm-muted" title="{}">{}</span>', hint.get(entry.who, ""), entry.who
            )
        return link(entry.who, "auth_user_change", entry.user_id)

    @admin.display(description="what")
    def what(self, entry: AuditEntry) -> SafeString | str:
        hue = next((hue for word, hue in _HUES if entry.verb.startswith(word)), None)
        return entry.verb if hue is None else badge(entry.verb, hue)

    @admin.display(description="to what")
    def subject_link(self, entry: AuditEntry) -> SafeString | str:
        if not entry.subject_type:
            return entry.subject or "-"
        app, _, model = entry.subject_type.partition(".")
        hint = f"{model} {entry.subject_id}"
        try:
            link = reverse(f"admin:{app}_{model}_change", args=[entry.subject_id])
        except NoReverseMatch:
            return format_html('<span title="{}">{}</span>', hint, entry.subject)
        return format_html(
            '<a class="tm-link tm-break" href="{}" title="{}">{}</a>', link, hint, entry.subject
        )

    @admin.display(description="change")
    def changed(self, entry: AuditEntry) -> SafeString | str:
        pairs = list(entry.changes.items())
        parts = [f"{name}: {_said(pair)}" for name, pair in pairs[:3]]
        if len(pairs) > 3:
            parts.append(f"and {len(pairs) - 3} more")
        text = "; ".join([*parts, *([entry.text] if entry.text else [])])
        if len(text) <= 160:
            return timed(text) if text else "-"
        return format_html('<span title="{}">{}…</span>', text[:2_000], timed(text[:160]))

    place = column("from", lambda row: row.address or "-")
    number = column("entry", lambda row: grouped(row.pk))
    mark = column("digest", lambda row: in_full(bytes(row.digest).hex()))

    def beside_fields(self, request: HttpRequest, row: AuditEntry) -> dict[str, Any]:
        return {"changes": row.changes, "entry": row}

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        asked = request.GET.copy()
        asked.pop("p", None)
        return {"check": audit_chain.last_check(), "asked": asked.urlencode()}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuditEntry], search_term: str
    ) -> tuple[QuerySet[AuditEntry], bool]:
        if search_term.strip():
            # No index serves words inside of texts.
            queryset = newest_of(queryset)
        found: tuple[QuerySet[AuditEntry], bool] = super().get_search_results(
            request, queryset, search_term
        )
        return found

    def file(self, request: HttpRequest, form: str) -> HttpResponseBase:
        """What the list shows with the same filters, whole."""
        if form not in audit_files.FORMS:
            raise Http404
        try:
            shown = self.get_changelist_instance(request)
            listed = shown.get_queryset(request)
        except IncorrectLookupParameters as error:
            # Not everything instead: the reader would take it for what they filtered.
            raise BadRequest("The audit log has no such filter") from error
        entries = listed.order_by("-pk")
        # Up to now: the entry of this very export is not among them.
        newest = AuditEntry.objects.aggregate(newest=Max("pk"))["newest"] or 0
        audit.record(request, "exported", "the audit log", text=f"As {form}: {_filters(shown)}.")
        return audit_files.answer(form, entries.filter(pk__lte=newest), now=timezone.now())


def _said(pair: Any) -> str:
    if not isinstance(pair, list) or len(pair) != 2:
        return in_words(pair)
    before, after = ("nothing" if part in (None, "") else in_words(part) for part in pair)
    return f"{before} → {after}"


def _filters(shown: Any) -> str:
    """What the list is narrowed to, in the words of its page."""
    parts = [part for each in shown.filter_specs for part in _narrowed(each)]
    if "subject_id" in shown.params:
        parts.append(f"number: {shown.params['subject_id'][-1]}")
    if shown.query.strip():
        parts.append(f"search: “{shown.query}”")
    return "; ".join(parts)[:500] or "everything"


def _narrowed(found: Any) -> Iterator[str]:
    chosen = found.value()
    labels = [label for value, label in found.lookup_choices if value == chosen]
    if labels:
        yield f"{found.title}: {labels[0]}"
    elif chosen is not None and isinstance(found, VerbFilter | SubjectFilter):
        yield f"{found.title}: {chosen}"
    elif isinstance(found, PersonFilter) and id_in(chosen or "") is not None:
        yield f"{found.title}: number {chosen}"
    if isinstance(found, TimeFilter):
        yield from (f"{name}: {day}" for name, day in found.days.items() if day is not None)

"""Bundles and the fates of their transactions, to look at."""

import re
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from unfold.paginator import InfinitePaginator

from access.admin.key_names import key_link, with_key_names
from access.admin.read_only import ReadOnlyAdmin
from priority.admin.fates import slots_after, state_word
from priority.admin.states import StateFilter
from priority.models import Bundle
from staff.formatting import ago, grouped, in_full, shortened, utc


@admin.register(Bundle)
class BundleAdmin(ReadOnlyAdmin):
    list_display = ("name", "standing", "by_key", "size", "landed_in", "why", "came")
    list_display_links = ("name",)
    list_filter = (StateFilter,)
    list_per_page = 50
    paginator = InfinitePaginator
    show_full_result_count = False
    search_fields = ("bundle_id",)  # looked for in get_search_results
    search_help_text = "A whole bundle id"
    change_form_outer_after_template = "admin/priority/bundle/transactions.html"
    readonly_fields = (
        *("whole_name", "standing", "why", "by_key", "landed_in", "engines", "accepted", "settled"),
    )
    fieldsets = ((None, {"fields": readonly_fields}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Bundle]:
        queryset: QuerySet[Bundle] = super().get_queryset(request)
        return with_key_names(queryset)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        # Of the shown ones alone: counted for all, a page would join the whole table first.
        shown = [bundle.pk for bundle in changes.result_list]
        counted = Bundle.objects.filter(pk__in=shown).order_by().annotate(n=Count("submissions"))
        sizes = dict(counted.values_list("pk", "n"))
        for bundle in changes.result_list:
            bundle.transaction_count = sizes.get(bundle.pk, 0)
        return changes

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Bundle], search_term: str
    ) -> tuple[QuerySet[Bundle], bool]:
        text = search_term.strip().lower()
        if not text:
            return queryset, False
        if not re.fullmatch(r"[0-9a-f]{64}", text):
            return queryset.none(), False
        return queryset.filter(bundle_id=text), False

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        bundle = self.get_object(request, object_id)
        rows = [] if bundle is None else bundle.submissions.order_by("bundle_index", "pk")
        transactions = [
            {
                "row": row,
                "name": shortened(str(row.signature)),
                "state": state_word(row),
                "tip": grouped(row.tip_lamports),
                "slots": grouped(slots_after(row)),
            }
            for row in rows
        ]
        return {"transactions": transactions}

    # --- what is shown ---

    @admin.display(description="bundle")
    def name(self, bundle: Bundle) -> SafeString:
        return shortened(bundle.bundle_id)

    @admin.display(description="bundle id")
    def whole_name(self, bundle: Bundle) -> SafeString:
        return in_full(bundle.bundle_id)

    @admin.display(description="state")
    def standing(self, bundle: Bundle) -> SafeString:
        return state_word(bundle)

    @admin.display(description="key")
    def by_key(self, bundle: Bundle) -> SafeString | str:
        return key_link(bundle)

    @admin.display(description="transactions")
    def size(self, bundle: Any) -> str:
        return grouped(bundle.transaction_count)

    @admin.display(description="slot")
    def landed_in(self, bundle: Bundle) -> str:
        return "-" if bundle.slot is None else str(bundle.slot)

    @admin.display(description="reason")
    def why(self, bundle: Bundle) -> str:
        return bundle.reason or "-"

    @admin.display(description="ids at the engines")
    def engines(self, bundle: Bundle) -> SafeString | str:
        ids = ((name, in_full(each)) for name, each in sorted(bundle.engine_ids.items()))
        return format_html_join("", "<div>{}: {}</div>", ids) or "none took it yet"

    @admin.display(description="accepted")
    def came(self, bundle: Bundle) -> SafeString | str:
        return ago(bundle.accepted_at)

    @admin.display(description="accepted")
    def accepted(self, bundle: Bundle) -> str:
        return utc(bundle.accepted_at, seconds=True)

    @admin.display(description="settled")
    def settled(self, bundle: Bundle) -> str:
        at = bundle.settled_at
        return "not yet" if at is None else utc(at, seconds=True)

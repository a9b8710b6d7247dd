"""Bundles with their transactions, read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from access.admin.key_names import key_link, with_key_names
from priority.fates.admin.fates import slots_after, state_label
from priority.fates.admin.list_filters import StateFilter
from priority.fates.admin.lookup import bundle_condition
from priority.fates.store.bundles import rows_of
from priority.models import Bundle, Submission
from rewind.explained.admin.explained import explained_of
from rewind.replay.admin.replay_pages import replays_of
from staff.columns import column
from staff.formatting import ago, coded, grouped, in_full, moment, shortened
from staff.read_only import LongListAdmin


def _explained(row: Submission) -> dict[str, Any]:
    found = explained_of(
        row.signature,
        err=row.err,
        tip_lamports=row.tip_lamports,
        tip_address=None if row.tip_address is None else str(row.tip_address),
        in_block=True,
    )
    return {"signature": str(row.signature), "found": found}


@admin.register(Bundle)
class BundleAdmin(LongListAdmin):
    list_display = ("name", "standing", "by_key", "size", "landed_in", "why", "came")
    list_filter = (StateFilter,)
    search_fields = ("bundle_id",)  # by `condition`
    search_help_text = "A bundle id, or at least its first 6 characters"
    change_form_outer_after_template = "admin/priority/bundle/transactions.html"
    fields = (
        "whole_name",
        "standing",
        "why",
        "by_key",
        "landed_in",
        "engines",
        "accepted",
        "settled",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Bundle]:
        queryset: QuerySet[Bundle] = super().get_queryset(request)
        return with_key_names(queryset)

    def complete_rows(self, rows: Any) -> None:
        # Of the shown ones alone: counted for all, a page would join the whole table first.
        shown = [bundle.pk for bundle in rows]
        counted = Bundle.objects.filter(pk__in=shown).order_by().annotate(n=Count("submissions"))
        sizes = dict(counted.values_list("pk", "n"))
        for bundle in rows:
            bundle.transaction_count = len(bundle.signatures or ()) or sizes.get(bundle.pk, 0)

    def condition(self, text: str) -> Q | None:
        return bundle_condition(text)

    def beside_fields(self, request: HttpRequest, row: Bundle) -> dict[str, Any]:
        found = rows_of(row)
        landed = [each for each in found if each.slot is not None]
        return {
            "transactions": [(each, state_label(each), slots_after(each)) for each in found],
            "explanations": [_explained(each) for each in landed],
            "replay": replays_of([each.signature for each in landed], bundle_id=row.bundle_id)
            if landed and len(landed) == len(found)
            else None,
        }

    # --- what is shown ---

    name = column("bundle", lambda row: shortened(row.bundle_id))
    whole_name = column("bundle id", lambda row: in_full(row.bundle_id))
    standing = column("state", state_label)
    by_key = column("key", key_link)
    size = column("transactions", lambda row: grouped(row.transaction_count))
    landed_in = column("slot", lambda row: "-" if row.slot is None else str(row.slot))
    why = column("reason", lambda row: coded(row.reason) if row.reason else "-")

    @admin.display(description="ids at the engines")
    def engines(self, bundle: Bundle) -> SafeString | str:
        ids = ((name, in_full(each)) for name, each in sorted(bundle.engine_ids.items()))
        return format_html_join("", "<div>{}: {}</div>", ids) or "none accepted it yet"

    came = column("accepted", lambda row: ago(row.accepted_at))
    accepted = column("accepted", lambda row: moment(row.accepted_at, seconds=True))

    @admin.display(description="settled")
    def settled(self, bundle: Bundle) -> str:
        at = bundle.settled_at
        return "not yet" if at is None else moment(at, seconds=True)

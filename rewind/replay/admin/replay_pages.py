"""Replays in the admin: the kept ones, and running any transaction of the ledger again."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from solders.signature import Signature

from access.admin.key_names import key_link, with_key_names
from historical.transactions.services.recorded_transactions import recorded_at
from jsonrpc.errors import RpcError
from rewind.explained.admin.explained import explained_of
from rewind.replay.admin.replays import words
from rewind.replay.admin.replays.asking import ask
from rewind.replay.admin.replays.formatting import result_context
from rewind.replay.admin.replays.uploading import take_upload
from rewind.replay.models import Replay
from rewind.replay.services.replays.keeping import Maker, request_of
from rewind.replay.services.replays.results import ReplayResult
from rewind.replay.services.replays.running import MOST_TRANSACTIONS, subjects_of
from rewind.replay.store import replays as store
from staff import audit
from staff.columns import column
from staff.formatting import ago, link, shortened, size_of
from staff.own_pages import OwnPage, PagesAdmin
from staff.parsing import signature_in, slot_in
from staff.read_only import ReadOnlyAdmin

_RUN = "rewind.run_replay"
_OF_ONE = 10


def run_page(signatures: str, **query: str) -> str:
    """The address of the page that replays these transactions, separated by commas."""
    asked = urlencode({"signatures": signatures, **query})
    return f"{reverse('admin:rewind_replay_run')}?{asked}"


def replays_of(signatures: Sequence[Signature], *, bundle_id: str = "") -> dict[str, Any]:
    """For templates/replays/of.html."""
    named = ",".join(map(str, signatures))
    now = timezone.now()
    found = store.of_signatures(signatures, None, limit=_OF_ONE)
    return {
        "page": run_page(named, **({"bundle": bundle_id} if bundle_id else {})),
        "rows": [(each, ago(each.made_at, now)) for each in found],
    }


def _run_page(replays: "ReplayAdmin", request: HttpRequest) -> HttpResponse:
    """Finds transactions, and replays them with the changes of a form."""
    given = {name: request.GET.get(name, "").strip() for name in ("signatures", "slot", "index")}
    context: dict[str, Any] = {
        "title": "Replay",
        "asked": given,
        "may_run": request.user.has_perm(_RUN),
    }
    if request.method == "POST" and not context["may_run"]:
        raise PermissionDenied
    signatures, fault = _named(given)
    context["fault"] = fault
    if signatures:
        try:
            subjects = subjects_of(signatures)
        except RpcError as error:
            context["refusal"] = words.refusal(error)
            return replays.page(request, "admin/rewind/replay/run.html", context)
        bundle_id = request.GET.get("bundle", "")[:64]
        asked = ask(
            request,
            subjects,
            by=Maker(request.user.get_username()),
            guard=_unlimited,
            bundle_id=bundle_id,
            earlier=_earlier(request.GET.get("from", "")),
        )
        if asked.made is not None:
            audit.record(request, "replayed", asked.made, text=asked.made.outcome)
            return HttpResponseRedirect(replays.page_of(asked.made.pk))
        context |= {
            **asked.context,
            "subjects": [each.recorded for each in subjects],
            "bundle_id": bundle_id,
            "explanations": [
                explained_of(each, err=None, tip_lamports=None, in_block=True, is_submission=False)
                for each in signatures
            ],
            "uploads": reverse("admin:rewind_replay_upload"),
            "most_upload": size_of(settings.MAX_LARGE_BODY),
        }
    return replays.page(request, "admin/rewind/replay/run.html", context)


def _upload(replays: "ReplayAdmin", request: HttpRequest) -> HttpResponse:
    """Takes a build for replays of the staff."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    answer, build = take_upload(request, customer_id=None, by=request.user.get_username())
    if build is not None:
        audit.record(request, "uploaded", build, text=f"SHA-256 {bytes(build.digest).hex()}")
    return answer


def _unlimited(run: Callable[[], ReplayResult]) -> ReplayResult:
    return run()


def _named(given: dict[str, str]) -> tuple[list[Signature], str]:
    """The transactions that the address names, and why it names none."""
    slot, index = slot_in(given["slot"]), slot_in(given["index"])
    if given["signatures"]:
        found = [signature_in(each) for each in given["signatures"].split(",")]
        known = [each for each in found if each is not None]
        if len(known) < len(found) or len(known) > MOST_TRANSACTIONS:
            return [], f"Expected one to {MOST_TRANSACTIONS} signatures, separated by commas."
        return list(dict.fromkeys(known)), ""
    if not given["slot"] and not given["index"]:
        return [], ""
    if slot is None or index is None or index >= 2**31:
        return [], "A slot and the transaction's index in its block are expected, both numbers."
    recorded = recorded_at(slot, index)
    if recorded is None:
        return [], f"The ledger has no transaction {index} in slot {slot}."
    return [recorded.signature], ""


def _earlier(text: str) -> Any:
    """The request of a kept replay that is to be changed."""
    try:
        found = Replay.objects.defer("result").filter(pk=UUID(text)).first()
    except ValueError:
        return None
    return None if found is None else request_of(found)


@admin.register(Replay)
class ReplayAdmin(PagesAdmin, ReadOnlyAdmin):
    """Customers' replays and the staff's own."""

    list_display = ("name", "what", "whose", "outcome", "note", "made")
    search_fields = ("id",)  # by `condition`
    search_help_text = "A transaction's signature, or a bundle id"
    why_nothing = "No transaction was replayed yet."
    list_before_template = "admin/rewind/replay/begin.html"
    change_form_outer_before_template = "admin/rewind/replay/result.html"
    fields = ("whole_name", "whose", "counted_on", "deleted")
    own_pages = (
        OwnPage("run/", "rewind_replay_run", _run_page),
        OwnPage("builds/", "rewind_replay_upload", _upload, _RUN),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Replay]:
        queryset: QuerySet[Replay] = super().get_queryset(request)
        rows = with_key_names(queryset).select_related("customer", "build").defer("build__code")
        if request.resolver_match and request.resolver_match.url_name == "rewind_replay_change":
            return rows
        return rows.defer("result", "request")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("rewind.change_replay"))

    def condition(self, text: str) -> Q | None:
        signature = signature_in(text)
        if signature is not None:
            return Q(signatures__contains=[bytes(signature)])
        return Q(bundle_id=text.lower()) if len(text) == 64 else None

    def beside_fields(self, request: HttpRequest, row: Replay) -> dict[str, Any]:
        signatures = ",".join(map(str, row.signatures))
        return {
            **result_context(row, base=f"{request.scheme}://{request.get_host()}"),
            "share": request.build_absolute_uri(self.page_of(row.pk)),
            "again": run_page(signatures, bundle=row.bundle_id, **{"from": str(row.pk)}),
            "may_run": request.user.has_perm(_RUN),
        }

    # --- what is shown ---

    name = column("replay", lambda row: str(row.pk)[:8], "made_at")
    whole_name = column("replay", lambda row: str(row.pk))
    counted_on = column("counted on the key", key_link)
    made = column("made", lambda row: ago(row.made_at), "made_at")
    deleted = column("build", lambda row: row.build.name if row.build else "none")

    @admin.display(description="transactions")
    def what(self, row: Replay) -> SafeString:
        return format_html_join(", ", "{}", ((shortened(each),) for each in row.signatures))

    @admin.display(description="made by")
    def whose(self, row: Replay) -> SafeString | str:
        if row.customer is None:
            return row.made_by
        named = link(row.customer, "access_customer_change", row.customer_id)
        return format_html_join("", "{} of {}", [(row.made_by, named)])

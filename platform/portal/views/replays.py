"""Replays of a customer's transactions: the form, the results, builds of programs."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from solders.signature import Signature

from access.callers import Quota
from chain.encodings import b64encode
from historical.transactions.services.recorded_transactions import recorded
from jsonrpc.errors import RpcError
from portal import store
from portal.models import Member
from portal.services import own_fates
from portal.services.replay_allowance import METHOD, Allowance, allowance, counted
from portal.views.pages import (
    action_of_owners,
    carry_out,
    changed_by_owners,
    count,
    for_members,
    page,
)
from priority.fates.errors import (
    BundleIdMalformed,
    BundleUnknown,
    FatesUnavailable,
    SignatureUnknown,
)
from rewind.replay.admin.replays import words
from rewind.replay.admin.replays.asking import ask
from rewind.replay.admin.replays.formatting import result_context
from rewind.replay.admin.replays.samples import samples_of
from rewind.replay.admin.replays.uploading import take_upload
from rewind.replay.models import Replay
from rewind.replay.services.replays.keeping import Maker, request_of
from rewind.replay.services.replays.running import MOST_TRANSACTIONS, subjects_of
from rewind.replay.store import replays as replay_store
from staff import audit
from staff.errors import ActionRefused
from staff.formatting import ago, shortened, size_of
from staff.formatting import counted as counted_text

_A_PAGE = 50
_OF_ONE = 10
# Each is read whole and loaded by the engine.
_UPLOADS = Quota(rate=10 / 60, burst=10)


def of_own_fate(
    view: Callable[[HttpRequest, Member, str], HttpResponse],
) -> Callable[..., HttpResponse]:
    """A view that reads a fate of the customer's, or says why there is none."""

    def read(request: HttpRequest, member: Member, **part: str) -> HttpResponse:
        (asked,) = part.values()
        context: dict[str, Any] = {"asked": asked}
        try:
            return view(request, member, asked)
        except (SignatureUnknown, BundleUnknown, BundleIdMalformed) as unknown:
            context["refusal"] = unknown
            return page(request, "portal/fate_unknown.html", context, status=404)
        except FatesUnavailable as refusal:
            context["refusal"] = refusal
            return page(request, "portal/fate_unread.html", context, status=503)

    return read


@changed_by_owners
@of_own_fate
def replay_fate(request: HttpRequest, member: Member, asked: str) -> HttpResponse:
    """Replays one of the customer's transactions."""
    found = own_fates.own_fate(member.customer_id, asked)
    context = {
        "heading": "Replay a transaction",
        "back": reverse("portal:fate", args=[asked]),
        "is_in_block": found.slot is not None,
    }
    return _form(request, member, [Signature.from_string(asked)], context)


@changed_by_owners
@of_own_fate
def replay_bundle(request: HttpRequest, member: Member, asked: str) -> HttpResponse:
    """Replays a bundle, one transaction after the other."""
    found = own_fates.own_bundle_fate(member.customer_id, asked)
    signatures = [Signature.from_string(each.signature) for each in found.transactions]
    context = {
        "heading": "Replay a bundle",
        "back": reverse("portal:bundle", args=[asked]),
        "is_in_block": all(each.slot is not None for each in found.transactions),
        "bundle_id": found.bundle_id,
    }
    return _form(request, member, signatures[:MOST_TRANSACTIONS], context)


def _form(
    request: HttpRequest, member: Member, signatures: Sequence[Signature], context: dict[str, Any]
) -> HttpResponse:
    context["signatures"] = [str(each) for each in signatures]
    try:
        subjects = subjects_of(signatures)
    except RpcError as error:
        return page(
            request, "portal/replay_form.html", {**context, "missing": words.refusal(error)}
        )
    if not subjects:
        raise Http404("a bundle without transactions")
    held, why_not = _allowance(member, signatures)
    if held is None:
        status = 403 if request.method == "POST" else 200
        return page(
            request, "portal/replay_form.html", {**context, "why_not": why_not}, status=status
        )
    bundle_id = context.get("bundle_id", "")

    def guard(run: Any) -> Any:
        return counted(
            run,
            held,
            transactions=len(subjects),
            address=getattr(request, "client_address", ""),
            request_id=getattr(request, "request_id", ""),
        )

    asked = ask(
        request,
        subjects,
        by=Maker(member.user.get_username(), member.customer_id, held.key.pk),
        guard=guard,
        bundle_id=bundle_id,
        earlier=_earlier(member, request.GET.get("from", "")),
    )
    if asked.made is not None:
        audit.record(request, "replayed", asked.made, text=f"in the portal: {asked.made.outcome}")
        return HttpResponseRedirect(reverse("portal:replay", args=[asked.made.pk]))
    calls = counted_text(len(subjects), "call")
    context |= {
        **asked.context,
        "may_run": member.is_owner,
        "uploads": reverse("portal:replay_build"),
        "most_upload": size_of(settings.MAX_LARGE_BODY),
        "counted": f"It counts as {calls} of {METHOD} on the key {held.key}.",
    }
    return page(request, "portal/replay_form.html", context)


def _allowance(member: Member, signatures: Sequence[Signature]) -> tuple[Allowance | None, str]:
    """The key that a replay counts on, or why there is none."""
    key = store.key_of_submission(member.customer_id, bytes(signatures[0]))
    preferred = None if key is None else key.pk
    try:
        return allowance(member.customer_id, preferred=preferred, now=timezone.now()), ""
    except ActionRefused as refusal:
        return None, str(refusal)


def _earlier(member: Member, text: str) -> Any:
    """The request of a replay of the customer's that is to be changed."""
    try:
        found = replay_store.of_customer(member.customer_id, UUID(text))
    except ValueError:
        return None
    return None if found is None else request_of(found)


@for_members
def replays(request: HttpRequest, member: Member) -> HttpResponse:
    """The customer's newest replays."""
    rows = list(replay_store.listed(member.customer_id)[:_A_PAGE])
    context = {
        "rows": [_row(each) for each in rows],
        "shown": _A_PAGE,
        "kept": settings.REPLAYS_KEPT,
        "kept_days": settings.REPLAY_DAYS,
    }
    return page(request, "portal/replays.html", context)


@for_members
def replay(request: HttpRequest, member: Member, replay_pk: UUID) -> HttpResponse:
    """One replay: the result beside the chain's record."""
    found = replay_store.of_customer(member.customer_id, replay_pk)
    if found is None:
        raise Http404("no replay of the customer's")
    address = reverse("portal:replay", args=[found.pk])
    context = {
        **result_context(found, base=f"{request.scheme}://{request.get_host()}"),
        "share": request.build_absolute_uri(address),
        "again": f"{_form_of(found)}?from={found.pk}",
        "may_run": member.is_owner,
    }
    return page(request, "portal/replay.html", context)


def _form_of(found: Replay) -> str:
    if found.bundle_id:
        return reverse("portal:replay_bundle", args=[found.bundle_id])
    return reverse("portal:replay_fate", args=[str(found.signatures[0])])


@action_of_owners
def delete(request: HttpRequest, member: Member, replay_pk: UUID) -> HttpResponse:
    """Deletes a replay: its link leads nowhere any more."""
    found = replay_store.of_customer(member.customer_id, replay_pk)
    if found is None:
        raise Http404("no replay of the customer's")
    carry_out(request, found, "deleted", found.delete, said="Deleted the replay")
    return HttpResponseRedirect(reverse("portal:replays"))


@action_of_owners
def upload_build(request: HttpRequest, member: Member) -> HttpResponse:
    """Takes a build of a program for the customer's replays."""
    count(request, "uploads", str(member.customer_id), _UPLOADS)
    answer, build = take_upload(
        request, customer_id=member.customer_id, by=member.user.get_username()
    )
    if build is not None:
        text = f"in the portal, SHA-256 {bytes(build.digest).hex()}"
        audit.record(request, "uploaded", build, text=text)
    return answer


def replays_of(member: Member, signatures: Sequence[Signature]) -> list[dict[str, Any]]:
    """The newest of these transactions' replays, as rows."""
    found = replay_store.of_signatures(signatures, member.customer_id, limit=_OF_ONE)
    return [_row(each) for each in found]


def sending_again(request: HttpRequest, signature: Signature) -> dict[str, Any] | None:
    """For templates/replays/send.html; None for a transaction that the ledger does not have."""
    try:
        found = recorded(signature)
    except RpcError:  # the rest of the page does not depend on it
        return None
    if found is None:
        return None
    wires = [b64encode(bytes(found.transaction))]
    base = f"{request.scheme}://{request.get_host()}"
    return {"wires": wires, "samples": samples_of(wires, base=base)}


def _row(each: Replay) -> dict[str, Any]:
    return {
        "pk": each.pk,
        "outcome": each.outcome,
        "note": each.note,
        "names": [shortened(signature) for signature in each.signatures],
        "by": each.made_by,
        "at": ago(each.made_at, timezone.now()),
    }

"""The members of a customer: list, inviting, changing, removing."""

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from access.callers import Quota
from access.errors import ActionRefused
from portal import store
from portal.forms.team import InviteForm, RoleForm
from portal.models import Member
from portal.services import members, post
from portal.views.pages import action_of_owners, changed_by_owners, limited, page, show_refusal
from staff import audit
from staff.formatting import ago
from staff.inviting import sign_in_badge

# Each sends a mail to an address that a user entered.
_INVITATIONS = Quota(rate=20 / 3600, burst=20)


@changed_by_owners
def team(request: HttpRequest, member: Member) -> HttpResponse:
    """All members, and the form to invite one."""
    form = InviteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        refused = _too_many(request, member)
        if refused is not None:
            return refused
        given = form.cleaned_data
        try:
            with transaction.atomic():
                new = members.invite(member.customer, email=given["email"], role=given["role"])
                audit.record(request, "invited", new, text=f"as {new.role} of {member.customer}")
        except ActionRefused as refusal:
            form.add_error("email", str(refusal))
        else:
            _post(request, new)
            return _back()
    now = timezone.now()
    people = [
        {
            "row": each,
            "state": sign_in_badge(
                is_active=each.user.is_active, is_invited=members.is_invited(each.user)
            ),
            "is_invited": each.user.is_active and members.is_invited(each.user),
            "last": ago(each.user.last_login, now),
            "is_me": each.pk == member.pk,
        }
        for each in store.members_of(member.customer_id)
    ]
    context = {
        "people": people,
        "form": form,
        "is_full": len(people) >= members.MOST_MEMBERS,
        "most": members.MOST_MEMBERS,
    }
    return page(request, "portal/team.html", context)


@action_of_owners
def invite_again(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    colleague = store.members_of(member.customer_id).filter(pk=pk).first()
    if colleague is None:
        raise Http404("no such colleague")
    refused = _too_many(request, member)
    if refused is not None:
        return refused
    try:
        with transaction.atomic():
            members.invite_again(colleague)
            audit.record(request, "invited again", colleague)
    except ActionRefused as refusal:
        show_refusal(request, refusal)
    else:
        _post(request, colleague)
    return _back()


@action_of_owners
def change_role(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose one of the roles")
        return _back()
    try:
        with transaction.atomic():
            changed, before = members.change_role(member, pk, role=form.cleaned_data["role"])
            audit.record(request, "changed", changed, changes={"role": [before, changed.role]})
    except Member.DoesNotExist:
        raise Http404("no such colleague") from None
    except ActionRefused as refusal:
        show_refusal(request, refusal)
    else:
        messages.success(request, f"{changed} is now {changed.role}")
    return _back()


@action_of_owners
def remove(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    try:
        with transaction.atomic():
            gone = members.remove(member, pk)
            audit.record(request, "removed", str(gone), text=f"from {member.customer}")
    except Member.DoesNotExist:
        raise Http404("no such colleague") from None
    except ActionRefused as refusal:
        show_refusal(request, refusal)
    else:
        messages.success(request, f"{gone} is removed and signed out")
    return _back()


def _post(request: HttpRequest, new: Member) -> None:
    if post.post_invitation(new.pk):
        messages.success(request, f"{new} is invited: a link is being mailed")
    else:
        messages.warning(
            request, f"{new} is invited, but no mail can be sent now: invite again later"
        )


def _too_many(request: HttpRequest, member: Member) -> HttpResponse | None:
    return limited(request, "invite", f"customer {member.customer_id}", _INVITATIONS)


def _back() -> HttpResponse:
    return HttpResponseRedirect(reverse("portal:team"))

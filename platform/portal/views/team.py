"""The members of a customer: list, inviting, changing, removing."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from access.callers import Quota
from portal import store
from portal.forms.team import InviteForm, RoleForm
from portal.models import Member
from portal.services import links, mails, members, post
from portal.services.links import Purpose
from portal.views.pages import action_of_owners, attempt, changed_by_owners, count, page
from staff import audit, outgoing_mail
from staff.formatting import ago
from staff.inviting import sign_in_badge

# Each may send a mail to an address that a user entered.
INVITATIONS = Quota(rate=20 / 3600, burst=20)


@changed_by_owners
def team(request: HttpRequest, member: Member) -> HttpResponse:
    """All members, and the form to invite one."""
    form = InviteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        _count_invitation(request, member)
        given = form.cleaned_data
        with attempt(request, form, "email") as attempted:
            new = members.invite(member.customer, email=given["email"], role=given["role"])
            audit.record(request, "invited", new, text=f"as {new.role} of {member.customer}")
        if attempted.done:
            return _invited(request, new)
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
        "roles": Member.Role.values,
        "form": form,
        "is_full": len(people) >= members.MOST_MEMBERS,
        "most": members.MOST_MEMBERS,
        "mails": outgoing_mail.is_sent(),
    }
    return page(request, "portal/team.html", context)


@action_of_owners
def invite_again(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    colleague = get_object_or_404(store.members_of(member.customer_id), pk=pk)
    _count_invitation(request, member)
    with attempt(request) as attempted:
        members.invite_again(colleague)
        audit.record(request, "invited again", colleague)
    return _invited(request, colleague) if attempted.done else _back()


@action_of_owners
def change_role(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose one of the roles")
        return _back()
    with attempt(request) as attempted:
        changed, before = members.change_role(member, pk, role=form.cleaned_data["role"])
        audit.record(request, "changed", changed, changes={"role": [before, changed.role]})
    if attempted.done:
        messages.success(request, f"{changed} is now {changed.role}")
    return _back()


@action_of_owners
def remove(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    with attempt(request) as attempted:
        gone = members.remove(member, pk)
        audit.record(request, "removed", str(gone), text=f"from {member.customer}")
    if attempted.done:
        messages.success(request, f"{gone} is removed and signed out")
    return _back()


def _invited(request: HttpRequest, new: Member) -> HttpResponse:
    """The list, if a link is being mailed; else the page that shows the link, once."""
    if post.post_link(new):
        messages.success(request, f"{new} is invited: a link is being mailed")
        return _back()
    context = {
        "invited": new,
        "link": mails.link_of(new.user, Purpose.INVITATION),
        "lasting": links.lasting(Purpose.INVITATION),
    }
    return page(request, "portal/invited.html", context)


def _count_invitation(request: HttpRequest, member: Member) -> None:
    count(request, "invite", f"customer {member.customer_id}", INVITATIONS)


def _back() -> HttpResponse:
    return HttpResponseRedirect(reverse("portal:team"))

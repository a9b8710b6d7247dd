"""The forms of the team page."""

from django import forms

from portal.models import Member

ROLES = (
    (Member.Role.READER, "reader: sees everything, changes nothing"),
    (Member.Role.DEVELOPER, "developer: also issues, changes, rotates and revokes keys"),
    (Member.Role.OWNER, "owner: also manages webhooks, replays and the team"),
)


class RoleForm(forms.Form):
    """What a colleague may do."""

    role = forms.ChoiceField(choices=ROLES, initial=Member.Role.READER)


class InviteForm(RoleForm):
    """Who is invited."""

    email = forms.EmailField(label="E-mail address", max_length=150)
    field_order = ("email", "role")

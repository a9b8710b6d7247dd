"""InvitingAdmin: users are added by a link with which they set a password."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString

from staff import provider_accounts, second_factor, sessions
from staff.actions import ActionsAdmin, AdminAction, always
from staff.columns import column
from staff.formatting import badge


def sign_in_badge(*, is_active: bool, is_invited: bool) -> SafeString:
    """Whether the user can sign in."""
    if not is_active:
        return badge("deactivated", "bad", "cannot sign in")
    if is_invited:
        return badge("invited", "warning", "has not signed in yet, and has no password")
    return badge("active", "good")


def sign_in_actions(
    user_of: Callable[[Any], Any], why_not_reset: Callable[[HttpRequest, Any], str] = always
) -> tuple[AdminAction, ...]:
    """Resetting the second factor, signing out, and unbinding from the provider, of the user of a
    row.
    """

    def why_not(request: HttpRequest, row: Any) -> str:
        has_device = second_factor.has_device(user_of(row))
        return why_not_reset(request, row) or ("" if has_device else "No second factor is set up")

    return (
        AdminAction(
            "reset_second_factor",
            "Reset second factor",
            "The app and the recovery codes become void: signing in takes no code until a new"
            " app is set up. Every session of this user ends. Verify first that this user"
            " asked for it.",
            "reset the second factor",
            lambda request, row: second_factor.remove(user_of(row), timezone.now()),
            why_not,
            icon="phonelink_erase",
        ),
        AdminAction(
            "sign_out",
            "Sign out everywhere",
            "Ends every session of this user at once. The user can sign in again.",
            "signed out everywhere",
            lambda request, row: sessions.sign_out_everywhere(user_of(row), timezone.now()),
            icon="logout",
        ),
        AdminAction(
            "unbind_provider",
            "Unbind from the provider",
            "The account at the sign-in provider no longer signs in as this user, and every session"
            " ends. The next account with this verified e-mail address is bound instead.",
            "unbound from the provider",
            lambda request, row: provider_accounts.unbind(user_of(row)),
            lambda request, row: (
                ""
                if provider_accounts.is_bound(user_of(row))
                else "No account of the provider is bound"
            ),
            icon="link_off",
        ),
    )


def _factor(row: Any) -> SafeString:
    if row.has_device:
        return badge("on", "good", "signing in takes a code of an authenticator app")
    return badge("off", "quiet", "signing in takes no code")


class InvitingAdmin(ActionsAdmin):
    """Adding a user, and actions that show a result, end on `show_link`: the page that shows the
    link once.
    """

    invite_title: ClassVar[str]
    adds_one = True
    show_full_result_count = False
    actions: Any = None

    second_factor = column("second factor", _factor, "has_device")

    def form_context(self, request: HttpRequest, object_id: str | None) -> dict[str, Any]:
        title = {"title": self.invite_title} if object_id is None else {}
        return super().form_context(request, object_id) | title

    def show_link(self, request: HttpRequest, invited: Any) -> HttpResponse:
        raise NotImplementedError

    def result_page(
        self, request: HttpRequest, action: AdminAction, row: Any, result: Any
    ) -> HttpResponse:
        return self.show_link(request, row)

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        request.invited = obj  # type: ignore[attr-defined]
        return HttpResponse()  # replaced by the page of the link, outside the transaction

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        response = super().changeform_view(request, object_id, form_url, extra_context)
        invited = getattr(request, "invited", None)
        return response if invited is None else self.show_link(request, invited)

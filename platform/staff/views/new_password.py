"""Setting a password by a link."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse_lazy
from unfold.widgets import INPUT_CLASSES

from staff import audit
from staff.invitations import links


class _Form(SetPasswordForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = " ".join(INPUT_CLASSES)


class NewPassword(PasswordResetConfirmView):
    """The page of a link of staff.invitations. It does not sign in: that takes the second factor,
    if there is one.
    """

    template_name = "staff/new_password.html"
    form_class = _Form
    token_generator = links
    success_url = reverse_lazy("admin:login")
    post_reset_login = False
    reset_url_token = "choose"

    def get_user(self, uidb64: str) -> User | None:
        user = super().get_user(uidb64)
        return user if user is not None and user.is_active and user.is_staff else None

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        shown = super().get_context_data(**kwargs)
        return {**admin.site.each_context(self.request), **shown, "title": "Choose a password"}

    def form_valid(self, form: Any) -> HttpResponse:
        token = self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        with transaction.atomic():
            user = User.objects.select_for_update().get(pk=form.user.pk)
            if not links.check_token(user, token):  # another request used it meanwhile
                self.validlink = False
                return self.render_to_response(self.get_context_data())
            answer: HttpResponse = super().form_valid(form)
            audit.record(self.request, "chose a password", form.user, by=form.user)
        return answer

"""InvitingAdmin: pages where somebody is added by a link that they choose a password with."""

from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from staff.pages import StaffAdmin


class InvitingAdmin(StaffAdmin):
    """Adding ends on the page of the link, shown once. `refusals` are the errors that are told as
    a message; `show_link` is the page.
    """

    invite_title: ClassVar[str]
    refusals: ClassVar[tuple[type[Exception], ...]]

    def show_link(self, request: HttpRequest, invited: Any) -> HttpResponse:
        raise NotImplementedError

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        request.invited = obj  # type: ignore[attr-defined]
        return HttpResponse()  # for the page of the link, which stands outside the transaction

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        extra = {"show_save_and_add_another": False, **(extra_context or {})}
        if object_id is None:
            extra |= {"show_save_and_continue": False, "title": self.invite_title}
        try:
            response: HttpResponse = super().changeform_view(request, object_id, form_url, extra)
        except self.refusals as refusal:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(request.get_full_path())
        invited = getattr(request, "invited", None)
        return response if invited is None else self.show_link(request, invited)

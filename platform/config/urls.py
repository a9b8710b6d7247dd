"""Paths → the areas' endpoints and the admin."""

from functools import partial

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config.pages.front import front_page, live_strip
from config.pages.server_error import server_error
from config.pages.status import status_feed, status_json, status_page
from config.staff_pages.find import find
from config.staff_pages.home import fix_now, live, live_charts
from gateway.sign_in import limited_leading, limited_sign_in
from priority.urls import FATES_POLICY, SOCKETS_POLICY, landing_endpoint, root_endpoint
from staff.views.new_password import NewPassword
from staff.views.own_password import change_password
from staff.views.provider import ADMIN, begin, end, finish
from staff.views.sign_in import enter_code, sign_in, sign_out
from staff.views.two_factor import two_factor
from subscriptions.fates import FateSocket
from subscriptions.views import SubscriptionSocket

admin.autodiscover()

handler500 = server_error

urlpatterns = [
    path("", root_endpoint(front_page, SubscriptionSocket.as_view(policy=SOCKETS_POLICY))),
    path("priority", landing_endpoint(FateSocket.as_view(policy=FATES_POLICY))),
    path("front/live/", live_strip, name="front_live"),
    path("status/", status_page, name="status"),
    path("status/feed/", status_feed, name="status_feed"),
    path("status.json", status_json, name="status_json"),
    path("", include("priority.urls")),
    path("", include("historical.urls")),
    path("", include("rewind.urls")),
    path("", include("tipping.urls")),
    path("", include("gateway.urls")),
    path("", include("operations.urls")),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/login/", limited_sign_in(sign_in)),
    path("admin/login/code/", limited_sign_in(enter_code), name="staff_code"),
    path(
        "admin/login/provider/", limited_leading(partial(begin, area=ADMIN)), name="staff_provider"
    ),
    path("admin/login/provider/callback/", partial(finish, area=ADMIN), name="staff_callback"),
    path(
        "admin/login/provider/sign-out/",
        limited_leading(partial(end, area=ADMIN)),
        name="staff_provider_out",
    ),
    path("admin/logout/", sign_out),
    path(
        "admin/two-factor/",
        admin.site.admin_view(limited_sign_in(two_factor)),
        name="staff_two_factor",
    ),
    path("admin/password_change/", admin.site.admin_view(limited_sign_in(change_password))),
    path("admin/password/<uidb64>/<token>/", NewPassword.as_view(), name="staff_new_password"),
    path("admin/live/", live, name="admin_live"),
    path("admin/live/charts/", live_charts, name="admin_live_charts"),
    path("admin/fix/", admin.site.admin_view(fix_now), name="admin_fix"),
    path("admin/find/", admin.site.admin_view(find), name="admin_find"),
    path("admin/", admin.site.urls),
    path("manage/v1/", include("management.urls")),
    path("portal", RedirectView.as_view(pattern_name="portal:overview")),
    path("portal/tokens/", include("management.portal_urls")),
    path("portal/", include("portal.urls")),
    path("", include("reference.urls")),
]

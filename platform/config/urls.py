"""Paths → the areas' doors and the admin."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config.front import front_page
from gateway.sign_in import limited_sign_in
from priority.urls import front_door

admin.autodiscover()

urlpatterns = [
    path("", front_door(front_page)),
    path("", include("priority.urls")),
    path("", include("historical.urls")),
    path("", include("rewind.urls")),
    path("", include("tipping.urls")),
    path("", include("gateway.urls")),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/login/", limited_sign_in(admin.site.login)),
    path("admin/", admin.site.urls),
]

"""The pages of the admin that belong to no area, and Django's own that are not shown."""

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

# Groups are how roles are kept; devices have secrets.
for _model in (User, Group, StaticDevice, TOTPDevice):
    if admin.site.is_registered(_model):
        admin.site.unregister(_model)

# Each registers its own.
import config.staff_pages.audit  # noqa: E402
import config.staff_pages.users  # noqa: E402, F401

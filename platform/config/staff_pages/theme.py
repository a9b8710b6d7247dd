"""How the admin looks: django-unfold's settings."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Tidemark",
    "SITE_HEADER": "Tidemark",
    "SITE_SYMBOL": "waves",
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "6px",
    "DASHBOARD_CALLBACK": "config.staff_pages.home.dashboard",
    "STYLES": [
        lambda request: static("tidemark/parts.css"),
        lambda request: static("tidemark/find.css"),
        lambda request: static("tidemark/admin.css"),
    ],
    "SCRIPTS": [
        lambda request: static("tidemark/strict.js"),
        lambda request: static("tidemark/names.js"),
        lambda request: static("tidemark/copy.js"),
        lambda request: static("tidemark/find.js"),
        lambda request: static("tidemark/times.js"),
    ],
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("tidemark/icon.svg"),
        }
    ],
    "COLORS": {
        # Teal: orange and red are for what went wrong, violet says nothing here.
        "primary": {
            "50": "oklch(98.4% .014 180.72)",
            "100": "oklch(95.3% .051 180.801)",
            "200": "oklch(91% .096 180.426)",
            "300": "oklch(85.5% .138 181.071)",
            "400": "oklch(77.7% .152 181.912)",
            "500": "oklch(70.4% .14 182.503)",
            "600": "oklch(51.1% .096 186.391)",
            "700": "oklch(45% .085 187.5)",
            "800": "oklch(43.7% .078 188.216)",
            "900": "oklch(38.6% .063 188.416)",
            "950": "oklch(27.7% .046 192.524)",
        },
    },
    "ACCOUNT": {
        "navigation": [
            {"title": "Two-factor sign-in", "link": lambda _: reverse("staff_two_factor")},
            {"title": "Change password", "link": lambda _: reverse("admin:password_change")},
        ]
    },
    "SIDEBAR": {"navigation": "config.staff_pages.sidebar.sidebar"},
}

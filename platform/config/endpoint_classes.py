"""DRF's settings: the classes that every endpoint walks."""

from typing import Any

# Every endpoint's (gateway.views.Endpoint names the same ones, with the host's check before them).
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["gateway.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [
        "gateway.permissions.KeyInGoodStanding",
        "gateway.permissions.KeyHasRights",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["gateway.throttles.CallerQuota"],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["gateway.renderers.JsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "gateway.renderers.OneForm",
    "EXCEPTION_HANDLER": "gateway.exception_handler.exception_handler",
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

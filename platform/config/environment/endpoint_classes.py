"""DRF's settings: the classes of every endpoint, and those that describe it."""

from typing import Any

# Those of gateway.views.Endpoint: its authentication admits the caller, with rights and limits.
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["gateway.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_THROTTLE_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["gateway.renderers.JsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "gateway.renderers.OneForm",
    "DEFAULT_SCHEMA_CLASS": "reference.openapi.TypedSchema",
    "EXCEPTION_HANDLER": "gateway.exception_handler.exception_handler",
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

# drf-spectacular's: /openapi.json, and manage.py spectacular.
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Tidemark",
    "DESCRIPTION": (
        "What answers plain GET, and the management API, beside JSON-RPC (`/openrpc.json`). Answers"
        " are JSON unless it says otherwise."
    ),
    "VERSION": "1",
    "DEFAULT_GENERATOR_CLASS": "reference.openapi.TypedGenerator",
    "GET_MOCK_REQUEST": "reference.openapi.described_request",
    # In the order of the urls, and of the path's parts and the query.
    "SORT_OPERATIONS": False,
    "SORT_OPERATION_PARAMETERS": False,
    # Enums are named by the types that have them.
    "POSTPROCESSING_HOOKS": [],
}

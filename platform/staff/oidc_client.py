"""The sign-in provider's client: OpenID Connect by Authlib, a code with PKCE, state and nonce."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import requests
from authlib.integrations.django_client import OAuth, OAuthError
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from staff.provider import Identity, NotBegun, ProviderRefused

_SECONDS = 10
# How far the provider's clock may be behind or ahead.
_LEEWAY = 30
# Signatures that only the provider can make: neither none, nor one by the client's secret.
_SIGNATURES = {
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
}
_LONGEST = {"sub": 255, "email": 150}
_SIGNATURES_FIELD = "id_token_signing_alg_values_supported"
# What sign-in reads of the discovery document; userinfo and the end of sessions are optional.
_NEEDED = (
    *("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"),
    _SIGNATURES_FIELD,
)


def lead_to_provider(request: HttpRequest, callback: str) -> HttpResponseBase:
    """Redirects to the provider, which comes back to `callback`, a path. State, nonce and verifier
    are kept in the session. Raises ProviderRefused.
    """
    client = _registered()
    with _failures():
        _load_metadata(client)
        found: HttpResponseBase = client.authorize_redirect(
            request, f"{settings.PUBLIC_URL}{callback}"
        )
    return found


def identity_of(request: HttpRequest) -> Identity:
    """The identity for the code with which the provider came back: its ID token is verified by its
    signature, issuer, audience, times and nonce. Raises ProviderRefused, and NotBegun before
    anything is asked of the provider. Each sign-in that was begun gets one answer.
    """
    client, state = _registered(), request.GET.get("state", "")
    if not client.framework.get_state_data(request.session, state):
        raise NotBegun
    if "error" in request.GET:
        client.framework.clear_state_data(request.session, state)
    with _failures():
        _load_metadata(client)
        options = {
            "iss": {"essential": True, "value": client.server_metadata["issuer"]},
            "aud": {"essential": True, "value": settings.OIDC_CLIENT_ID},
        }
        token = client.authorize_access_token(request, claims_options=options, leeway=_LEEWAY)
        if "userinfo" not in token:
            raise ProviderRefused("The provider sent no ID token")
        claims = dict(token["userinfo"])
        if client.server_metadata.get("userinfo_endpoint"):
            more = client.userinfo(token=token)
            if more.get("sub") != claims["sub"]:
                raise ProviderRefused("The provider's answers are about different people")
            # An address and whether it is verified come from one place.
            address = claims if "email_verified" in claims else more
            names = ("email", "email_verified")
            claims = {**more, **claims, **{name: address.get(name) for name in names}}
        return _identity(client.server_metadata["issuer"], claims)


def sign_out_address(back: str) -> str:
    """Where the session at the provider ends; `back`, a path, if it does not offer that. Raises
    ProviderRefused.
    """
    client = _registered()
    with _failures():
        _load_metadata(client)
        ends = client.server_metadata.get("end_session_endpoint")
    if not ends:
        return back
    asked = {
        "client_id": settings.OIDC_CLIENT_ID,
        "post_logout_redirect_uri": f"{settings.PUBLIC_URL}{back}",
    }
    return f"{ends}{'&' if '?' in ends else '?'}{urlencode(asked)}"


def examine() -> None:
    """Reads the provider's discovery document and keys, as a sign-in does. Raises ProviderRefused
    with the reason for which no one can sign in, for the operator.
    """
    client = _registered()
    with _failures():
        try:
            metadata = client.load_server_metadata()
            if missing := [name for name in _NEEDED if not metadata.get(name)]:
                raise ProviderRefused(f"Its discovery document has no {', '.join(missing)}")
            _load_metadata(client)
            if not metadata[_SIGNATURES_FIELD]:
                raise ProviderRefused("It signs ID tokens only in ways that are not accepted")
            KeySet.import_key_set(client.fetch_jwk_set())
        except requests.RequestException as error:
            raise ProviderRefused(_unreachable(error)) from None
        except JoseError:
            raise ProviderRefused("Its keys cannot be read") from None


def _unreachable(error: requests.RequestException) -> str:
    match error:
        case requests.HTTPError(response=response) if response is not None:
            return f"It answers {response.status_code} at {response.url}"
        case requests.JSONDecodeError():
            return "Its answer is not JSON"
        case requests.exceptions.SSLError():
            return "Its certificate is not trusted by this machine"
        case requests.Timeout():
            return f"It does not answer within {_SECONDS} s"
    return "It does not answer"


def _registered() -> Any:
    """Made again each time, and so with the provider's metadata and keys of now: sign-ins are
    rare.
    """
    return OAuth().register(
        "oidc",
        client_id=settings.OIDC_CLIENT_ID,
        client_secret=settings.OIDC_CLIENT_SECRET,
        server_metadata_url=f"{settings.OIDC_ISSUER}/.well-known/openid-configuration",
        client_kwargs={
            "scope": settings.OIDC_SCOPES,
            "code_challenge_method": "S256",
            "default_timeout": _SECONDS,
        },
    )


def _load_metadata(client: Any) -> None:
    """Raises ProviderRefused if it is another issuer's."""
    metadata = client.load_server_metadata()
    if str(metadata["issuer"]).rstrip("/") != settings.OIDC_ISSUER:
        raise ProviderRefused("The provider calls itself by another name than OIDC_ISSUER")
    offered = metadata[_SIGNATURES_FIELD]
    metadata[_SIGNATURES_FIELD] = [each for each in offered if each in _SIGNATURES]


@contextmanager
def _failures() -> Iterator[None]:
    """What goes wrong between here and the provider, as ProviderRefused."""
    try:
        yield
    except requests.RequestException:
        raise ProviderRefused("The provider does not answer: try again later") from None
    except OAuthError as error:
        raise ProviderRefused(_said(error)) from None
    except JoseError as error:
        raise ProviderRefused(f"The provider's ID token is not valid: {error.error}") from None
    except (KeyError, TypeError, ValueError, RuntimeError):
        raise ProviderRefused("The provider's answer cannot be read") from None


def _said(error: Any) -> str:
    """An error of the protocol in words; some of them the provider wrote."""
    match error.error:
        case "access_denied":
            return "The provider did not let you in"
        case _:
            return f"The provider refused: {str(error.error)[:100]}"


def _identity(issuer: str, claims: dict[str, Any]) -> Identity:
    texts = {name: claims.get(name) for name in _LONGEST}
    for name, text in texts.items():
        if not isinstance(text, str) or not 0 < len(text) <= _LONGEST[name] or "\0" in text:
            raise ProviderRefused(f"The provider named no {name}: it has to be in the claims")
    # Some providers write "true": a text is not taken for it.
    if claims.get("email_verified") is not True:
        raise ProviderRefused("The provider has not verified your e-mail address")
    groups = claims.get(settings.OIDC_GROUPS_CLAIM) or ()
    named = [groups] if isinstance(groups, str) else groups
    return Identity(
        issuer=issuer,
        subject=str(texts["sub"]),
        email=str(texts["email"]).strip().lower(),
        groups=frozenset(each for each in named if isinstance(each, str)),
    )

"""A sign-in provider that answers whatever a test says: its ID tokens may lie in any way."""

import hashlib
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

CLIENT, SECRET = "tidemark", "a secret of the client"


@cache
def key_of(owner: str) -> RSAKey:
    """The provider's or a stranger's, made at its first use."""
    given = {"kid": "first", "use": "sig", "alg": "RS256"}
    return RSAKey.generate_key(2048, given, private=True)


class ForgedProvider:
    """`claims` go over those of an honest ID token (None removes one), `metadata` over those of an
    honest discovery. `signed` is "well", "by a stranger", "by the client's secret" or "not at all".
    `userinfo` is what its endpoint answers; None: there is none. `keys` are its public ones.
    """

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.asked: dict[str, str] = {}
        self.claims: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.userinfo: dict[str, Any] | None = None
        self.signed = "well"
        self.keys: list[dict[str, Any]] = [key_of("provider").as_dict(private=False)]  # type: ignore[misc]
        self.tokens_given = 0

    def begin(self, browser: Any, path: str) -> dict[str, str]:
        """Begins to sign in there, and returns what the provider is asked."""
        answer = browser.get(path)
        assert answer.status_code == 302, answer.content
        parts = urlsplit(answer.headers["Location"])
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{self.issuer}/authorize"
        self.asked = dict(parse_qsl(parts.query))
        return self.asked

    def come_back(self, browser: Any, *, state: str | None = None, code: str = "a code") -> Any:
        """The provider's redirect, to the address that it was asked to come back to."""
        given = {"code": code, "state": self.asked["state"] if state is None else state}
        return browser.get(urlsplit(self.asked["redirect_uri"]).path, given)

    def sign_in(self, browser: Any, path: str, **claims: Any) -> Any:
        """All of it; the answer is that to the redirect."""
        self.claims |= claims
        self.begin(browser, path)
        return self.come_back(browser)

    # --- its answers ---

    def discovery(self) -> dict[str, Any]:
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "end_session_endpoint": f"{self.issuer}/end",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }
        if self.userinfo is not None:
            found["userinfo_endpoint"] = f"{self.issuer}/userinfo"
        return found | self.metadata

    def id_token(self) -> str:
        now = int(time.time())
        honest = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "subject-1",
            "iat": now,
            "exp": now + 300,
            "nonce": self.asked.get("nonce"),
            "email": "new@ada.example",
            "email_verified": True,
        }
        claims = {name: each for name, each in (honest | self.claims).items() if each is not None}
        match self.signed:
            case "not at all":
                head, body = ({"alg": "none"}, claims)
                parts = (urlsafe_b64encode(json.dumps(each).encode()) for each in (head, body))
                return ".".join([*(part.rstrip(b"=").decode() for part in parts), ""])
            case "by the client's secret":
                return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(SECRET))
            case _:
                key = key_of("provider" if self.signed == "well" else "a stranger")
                return jwt.encode({"alg": "RS256", "kid": "first"}, claims, key)

    def token(self, sent: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """Refuses a verifier that is not the one of the challenge."""
        verifier = sent.get("code_verifier", [""])[0].encode()
        challenge = urlsafe_b64encode(hashlib.sha256(verifier).digest()).rstrip(b"=").decode()
        if challenge != self.asked.get("code_challenge"):
            return 400, {"error": "invalid_grant"}
        self.tokens_given += 1
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": self.id_token()}


@contextmanager
def forged_provider() -> Iterator[ForgedProvider]:
    """One that listens on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path:
                case "/.well-known/openid-configuration":
                    self.answer(200, provider.discovery())
                case "/keys":
                    self.answer(200, {"keys": provider.keys})
                case "/userinfo":
                    self.answer(200, provider.userinfo or {})
                case _:
                    self.answer(404, {})

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            self.answer(*provider.token(parse_qs(self.rfile.read(length).decode())))

        def answer(self, status: int, body: dict[str, Any]) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = ForgedProvider(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def turn_on(settings: Any, issuer: str) -> None:
    """The settings of the provider."""
    settings.OIDC_ISSUER = issuer
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT, SECRET
    settings.OIDC_NAME = "Acme"

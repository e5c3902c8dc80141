"""Access control: an ASGI layer in front of everything the studio serves.

Problem: a server on this machine can be reached by any page that its user has open. Such a page can send requests
(cross-site request forgery), open websockets, which know no same-origin policy, or give its own name this machine's
address (DNS rebinding). Method: the host of a request must be a name of this machine; requests that change state must
come from the studio's own pages (Barth, Jackson & Mitchell 2008); if other machines can reach the server, a token is
required, which is compared in constant time and stored in a cookie that scripts cannot read.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_COOKIE = "discriminant_studio_token"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
#: The path of the messages of a page; without a websocket they are sent by GET.
_MESSAGES = "/_nicegui_ws/"
#: Pages load nothing from other servers, cannot be embedded, and send no referrer.
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        b"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
        b"form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Guard:
    """An application with access control; without a token everybody on this machine has access."""

    app: App
    token: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse a request, or set the cookie for the token in its address."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if (reason := self._refusal(scope, headers)) is not None:
            await _refuse(scope, receive, send, reason)
        elif self.token is not None and (address := self._without_token(scope)) is not None:
            await _respond(send, 303, "", [(b"location", address.encode()), (b"set-cookie", self._cookie())])
        elif not self._known(headers):
            await _refuse(scope, receive, send, "A token is required. Open the address that the command printed.")
        else:
            await self.app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """The reason to refuse a request, independent of its token."""
        host = headers.get("host", "")
        if self.token is None and not is_loopback(urlsplit(f"//{host}").hostname or ""):
            return (
                "This studio accepts connections only from the machine on which it runs. Open it as http://localhost."
            )
        changes = scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS
        if not changes and not scope["path"].startswith(_MESSAGES):
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        foreign = site not in ("same-origin", "none") if origin is None else urlsplit(origin).netloc != host
        if not foreign:
            return None
        return (
            "This request was sent by a page of another origin. Open the studio at the address that the command "
            "printed."
        )

    def _without_token(self, scope: Scope) -> str | None:
        """The address without its token, if the token is correct."""
        pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in pairs if name == "token"]
        if scope["type"] != "http" or not given or not self._is_token(given[0]):
            return None
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        path = "/" + scope["path"].lstrip("/\\")  # two slashes would redirect to another server
        return f"{path}?{rest}" if rest else path

    def _known(self, headers: dict[str, str]) -> bool:
        if self.token is None:
            return True
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
        except CookieError:
            return False
        return kept is not None and self._is_token(kept.value)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self.token or "").encode())

    def _cookie(self) -> bytes:
        return f"{_COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Lax".encode()


def _with_headers(send: Send) -> Send:
    async def sent(message: Scope) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
        await send(message)

    return sent


async def _refuse(scope: Scope, receive: Receive, send: Send, reason: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
    else:
        await _respond(send, 403, reason)


async def _respond(send: Send, status: int, text: str, more: list[tuple[bytes, bytes]] | None = None) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"), *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers + (more or [])})
    await send({"type": "http.response.body", "body": text.encode()})

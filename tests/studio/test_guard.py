"""Access control: hosts, origins and tokens, of the guard itself and of a running server."""

import asyncio
import http.client
import json
import time
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from studios import running

from discriminant.studio.guard import Guard

OWN = "127.0.0.1:8321"


async def _served(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"served"})


def ask(method="GET", path="/", query="", kind="http", token=None, **headers):
    """What comes back: the first message sent, as it would go to the browser."""
    sent = []
    given = {"host": OWN, **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": kind, "method": method, "path": path, "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items() if value is not None],
    }  # fmt: skip

    async def receive():
        return {}

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(_served, token)(scope, receive, send))
    return sent[0]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", "192.168.0.7", ""])
def test_names_of_other_machines_are_not_answered(host):
    assert ask(host=host)["status"] == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost:8321", "[::1]:8321", "127.0.0.2"])
def test_names_of_this_machine_are_answered(host):
    assert ask(host=host)["status"] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://localhost:8321"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/upload"), ("DELETE", "/"), ("GET", "/_nicegui_ws/socket.io/"), ("POST", "/_nicegui_ws/")],
)
def test_other_origins_change_nothing(method, path, origin):
    assert ask(method, path, origin=origin)["status"] == 403


def test_other_origins_open_no_websocket():
    refused = ask(path="/_nicegui_ws/socket.io/", kind="websocket", origin="http://evil.example")
    assert refused["type"] == "websocket.close"
    assert ask("POST", "/upload", sec_fetch_site="cross-site")["status"] == 403


def test_own_pages_may():
    assert ask("POST", "/upload", origin=f"http://{OWN}")["status"] == 200
    assert ask("GET", "/", origin="http://evil.example")["status"] == 200  # a link from elsewhere


def test_every_answer_forbids_other_networks_and_frames():
    headers = dict(ask()["headers"])
    assert b"default-src 'self'" in headers[b"content-security-policy"]
    assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]
    assert headers[b"referrer-policy"] == b"no-referrer"


def test_a_token_is_taken_once_and_kept_in_a_cookie():
    assert ask(token="right")["status"] == 403
    assert ask(token="right", query="token=wrong")["status"] == 403
    taken = ask(path="/learn", query="token=right&preset=1", token="right")
    headers = dict(taken["headers"])
    assert (taken["status"], headers[b"location"]) == (303, b"/learn?preset=1")
    assert b"HttpOnly" in headers[b"set-cookie"]
    cookie = headers[b"set-cookie"].split(b";")[0].decode()
    assert ask(token="right", cookie=cookie, host="studio.example")["status"] == 200
    assert ask(token="right", cookie=cookie.replace("right", "wrong"))["status"] == 403
    assert ask(kind="websocket", token="right", origin=f"http://{OWN}")["type"] == "websocket.close"


def test_the_way_back_from_a_token_stays_here():
    location = dict(ask(path="//evil.example/", query="token=right", token="right")["headers"])[b"location"]
    assert location == b"/evil.example/"


def request(address, method, path, body=None, **headers):
    parts = urlsplit(address)
    with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)) as connection:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers


def test_loopback_is_the_default_and_announced(studio):
    assert urlsplit(studio.address).hostname == "127.0.0.1"
    until = time.monotonic() + 20
    while "It is accessible from this machine only." not in studio.log() and time.monotonic() < until:
        time.sleep(0.1)
    assert "It is accessible from this machine only." in studio.log()


def test_a_server_refuses_other_hosts_and_origins(studio):
    assert request(studio.address, "GET", "/", Host="evil.example")[0] == 403
    assert request(studio.address, "POST", "/upload", b"x", Origin="http://evil.example")[0] == 403
    polling = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    assert request(studio.address, "GET", polling, Origin="http://evil.example")[0] == 403
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "a" * 22 + "==",
    }
    path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    assert request(studio.address, "GET", path, Origin="http://evil.example", **upgrade)[0] == 403


def test_uploads_are_limited_and_stay_in_a_folder_of_the_visitor(studio):
    before = {path for path in studio.state.rglob("*") if path.is_file()}
    status, answer, _ = request(studio.address, "POST", "/upload", b"x" * (1 << 21), X_File_Name="big.csv")
    assert (status, "1 MB" in json.loads(answer)["error"]) == (413, True)
    chunks = (b"x" * 65536 for _ in range(40))  # without a content length
    assert request(studio.address, "POST", "/upload", chunks, X_File_Name="big.csv")[0] == 413
    assert {path for path in studio.state.rglob("*") if path.is_file()} == before
    status, answer, _ = request(studio.address, "POST", "/upload", b"a,b\n", X_File_Name="..%2F..%2Fescaped.csv")
    (new,) = {path for path in studio.state.rglob("*") if path.is_file()} - before
    assert (status, new.name, new.read_bytes()) == (200, "escaped.csv", b"a,b\n")
    assert new.is_relative_to(studio.state / "visitors")


def test_other_machines_need_the_token_that_is_printed(tmp_path):
    with running(tmp_path, "--host", "0.0.0.0") as found:
        parts = urlsplit(found.address)
        assert len(parts.query) > 30
        assert request(found.address, "GET", "/")[0] == 403
        status, _, answer = request(found.address, "GET", f"/?{parts.query}")
        cookie = answer["set-cookie"].split(";")[0]
        assert status == 303
        assert request(found.address, "GET", "/", Cookie=cookie)[0] == 200
        request(found.address, "GET", f"/nowhere?{parts.query}", Cookie=cookie)
    assert found.log().count(parts.query.removeprefix("token=")) == 1  # where it was announced

"""Load test of the Learn page: many clients that paint, fit and step concurrently, over websockets as browsers do."""

from __future__ import annotations

import ast
import asyncio
import json
import random
import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import socketio

#: Addresses of the clients, in turn.
ADDRESSES = (
    "/learn?view=model&points=blank",
    "/learn?view=perceptron&points=and",
    "/learn?view=outliers",
    "/learn?view=line",
    "/learn?view=fisher",
    "/learn?view=many",
)
#: Maximum seconds between two actions of a client.
THINKING = 2.0
#: Seconds after which a missing response is an error.
PATIENCE = 90.0
_ELEMENTS = re.compile(r"parseElements\(String\.raw`(.*?)`\)", re.DOTALL)
_QUERY = re.compile(r"query: (\{.*?\}),\n", re.DOTALL)
_ENTITIES = (("&#36;", "$"), ("&#96;", "`"), ("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&"))


@dataclass
class Pupil:
    """One client: a page, its socket, and the response times."""

    base: str
    address: str
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    doing: str = "opening"

    async def visit(self, actions: int, rng: random.Random) -> None:
        """Open the page, perform a number of actions, and leave."""
        async with aiohttp.ClientSession() as session:
            await asyncio.sleep(rng.uniform(0, THINKING))
            start = time.perf_counter()
            await self._open(session)
            await self._answered(start)
            try:
                for number in range(actions):
                    await asyncio.sleep(rng.uniform(0, THINKING))
                    start = time.perf_counter()
                    self.arrived.clear()
                    await self._act(number, rng)
                    await self._answered(start)
            finally:
                await self.socket.disconnect()

    async def _open(self, session: aiohttp.ClientSession) -> None:
        async with session.get(self.base + self.address) as reply:
            text = await reply.text()
            cookies = "; ".join(f"{name}={one.value}" for name, one in reply.cookies.items())
        found, asked = _ELEMENTS.search(text), _QUERY.search(text)
        assert found is not None
        assert asked is not None
        written = found[1]
        for entity, letter in _ENTITIES:
            written = written.replace(entity, letter)
        self.elements = {int(number): one for number, one in json.loads(written).items()}
        query = ast.literal_eval(asked[1])
        self.client, self.revision, self.arrived = str(query["client_id"]), 0, asyncio.Event()
        self.socket = socketio.AsyncClient(http_session=session, reconnection=False)
        self.socket.on("update", self._update)
        more = {"tab_id": str(uuid.uuid4()), "old_tab_id": "", "document_id": str(uuid.uuid4())}
        words = "&".join(f"{name}={_written(value)}" for name, value in {**query, **more}.items())
        headers = {"Cookie": cookies, "Origin": self.base}
        path = "_nicegui_ws/socket.io"
        url, ways = f"{self.base}/?{words}", ["websocket"]
        await self.socket.connect(url, headers, transports=ways, socketio_path=path, wait_timeout=PATIENCE)
        if not query.get("implicit_handshake"):
            assert await self.socket.call("handshake", {**query, **more})

    def _update(self, message: dict[str, Any]) -> None:
        """Apply the changes that the server sends; new figures on the board are a response."""
        for number, one in message.items():
            if number == "_id" or one is None:
                continue
            self.elements[int(number)] = one
            props = one.get("props", {})
            if props.get("drawn", "[]") != "[]":
                self.revision = props["points"]["revision"]
                self.arrived.set()
            if "error" in one.get("class", []) and props.get("innerHTML") and "hidden" not in one.get("class", []):
                self.errors.append(props["innerHTML"])

    async def _answered(self, start: float) -> None:
        try:
            await asyncio.wait_for(self.arrived.wait(), PATIENCE)
        except TimeoutError:
            raise TimeoutError(f"{self.address}: answer {len(self.seconds)} did not come, {self.doing}") from None
        self.seconds.append(time.perf_counter() - start)

    async def _act(self, number: int, rng: random.Random) -> None:
        """Paint a stroke, or in every third action change the number of passes, the model, or the points."""
        kind = next(iter(self._listeners("input")), None) if number % 3 == 2 else None
        if kind is not None:
            await self._emit(*kind, str(number % 5))
            return
        ids = [rng.randrange(1_000, 1_000_000) for _ in range(6)]
        dabs = [[one, rng.random() * 1.2, rng.random() * 1.2, one % 2] for one in ids]
        board = next(self._listeners("edit"))
        await self._emit(*board, {"revision": self.revision, "changes": dabs})

    def _listeners(self, event: str) -> Any:
        for number, one in self.elements.items():
            for known in one.get("events", ()):
                if known["type"] == event:
                    yield number, known["listener_id"]

    async def _emit(self, number: int, listener: str, args: Any) -> None:
        self.doing = f"element {number}, {args!r}"
        message = {"id": number, "client_id": self.client, "listener_id": listener, "args": [json.dumps(args)]}
        await self.socket.emit("event", message)


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


async def wave(base: str, pupils: int, actions: int, seed: int = 0) -> list[Pupil]:
    """Run a number of concurrent clients; the result has their response times and errors."""
    found = [Pupil(base, ADDRESSES[i % len(ADDRESSES)]) for i in range(pupils)]
    rngs = [random.Random(seed * 1_000 + i) for i in range(pupils)]
    await asyncio.gather(*(one.visit(actions, rng) for one, rng in zip(found, rngs, strict=True)))
    return found


def share_within(pupils: Sequence[Pupil], limit: float) -> float:
    """The share of all responses, including the first figures, within a time limit."""
    answers = [seconds for one in pupils for seconds in one.seconds]
    return sum(seconds <= limit for seconds in answers) / len(answers)


def resident(process: int) -> float:
    """The resident memory of a process, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024

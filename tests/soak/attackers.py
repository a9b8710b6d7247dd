"""Connections that send a head, half a body, an HTTP/2 preface or nothing, opened again when the
server closes them. Run by test_hostile_clients: attackers.py PORT COUNT, until a line on stdin.
"""

import asyncio
import contextlib
import itertools
import json
import sys

_HALF_HEAD = b"POST /historical HTTP/1.1\r\nHost: loc"
_HALF_BODY = (
    b"POST /historical HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b'Authorization: x\r\nContent-Length: 1000\r\n\r\n{"jsonrpc":'
)
# The preface, empty SETTINGS, and a HEADERS frame that announces a body.
_HTTP_2 = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    b"\x00\x00\x05\x01\x04\x00\x00\x00\x01\x83\x84\x86\x41\x00"
)
# A third are HTTP/2's.
_SENT = [_HTTP_2, _HALF_HEAD, _HALF_BODY, _HTTP_2, b"", _HALF_BODY]
_ADDRESSES = 16
_OPENED_AT_ONCE = 50


class Attack:
    def __init__(self, port: int) -> None:
        self.port = port
        self.held = self.opened = self.refused = 0
        self._opening = asyncio.Semaphore(_OPENED_AT_ONCE)

    async def hold(self, number: int) -> None:
        source = (f"127.0.1.{number % _ADDRESSES + 1}", 0)
        for turn in itertools.count(number):
            try:
                async with self._opening:
                    reader, writer = await asyncio.open_connection(
                        "127.0.0.1", self.port, local_addr=source
                    )
                self.opened += 1
            except OSError:
                self.refused += 1
                await asyncio.sleep(1)
                continue
            self.held += 1
            with contextlib.suppress(OSError):
                writer.write(_SENT[turn % len(_SENT)])
                while await reader.read(4_096):
                    pass
            self.held -= 1
            writer.close()
            # Half of a second: with thousands, some thousand connections a second at most.
            await asyncio.sleep(0.5)


async def main(port: int, count: int) -> None:
    attack = Attack(port)
    tasks = [asyncio.create_task(attack.hold(number)) for number in range(count)]
    while attack.opened < count:
        await asyncio.sleep(0.1)
    print("ready", flush=True)
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, attack.held)
            await asyncio.sleep(0.1)

    watching = asyncio.create_task(watch())
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    print(json.dumps({"held": most, "opened": attack.opened, "refused": attack.refused}))
    for task in [*tasks, watching]:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))

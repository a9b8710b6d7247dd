"""Names of landers: each is held by one running lander; entries of a free name can be taken."""

import json
import secrets
import time
from typing import Any, cast

from redis.asyncio import Redis

from shared_state.redis_client import NAMESPACE, client

# A lander without a heartbeat for this long is considered dead.
ALIVE_SECONDS = 3.0
_STATE_SECONDS = 60
_ALIVE = f"{NAMESPACE}landing:alive:"
# {name: its last report}; a scan of all keys would read every active transaction.
_STATES = f"{NAMESPACE}landing:landers"
_MOST_LANDERS = 64

# Ours while it holds our token or none.
_HOLD = """
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
_LET_GO = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""


class LanderName:
    """The name of one lander process. Every method raises redis.RedisError."""

    def __init__(self, redis_client: Redis, wanted: str) -> None:
        self._client = redis_client
        self._hold_script = redis_client.register_script(_HOLD)
        self._let_go_script = redis_client.register_script(_LET_GO)
        self._wanted = wanted
        self._word = secrets.token_hex(8)
        self.text = ""

    async def take(self) -> str:
        """The wanted name, or that with a number where another lander has it."""
        for number in range(1, _MOST_LANDERS + 1):
            name = self._wanted if number == 1 else f"{self._wanted}-{number}"
            if await self._hold(name):
                self.text = name
                return name
        raise RuntimeError(f"{_MOST_LANDERS} landers are named {self._wanted}")

    async def keep(self) -> bool:
        """Whether the name is still ours."""
        return await self._hold(self.text)

    async def let_go(self) -> None:
        """Frees the name, so that others need not wait for its expiry."""
        await self._let_go_script([_ALIVE + self.text], [self._word])
        await self._client.hdel(_STATES, self.text)

    async def others_alive(self, names: list[str]) -> set[str]:
        """Of these names, those that a lander has."""
        if not names:
            return set()
        found: Any = await self._client.mget([_ALIVE + name for name in names])
        return {name for name, word in zip(names, found, strict=True) if word is not None}

    async def publish(self, state: dict[str, Any]) -> None:
        """Publishes the lander's state, for the admin and metrics."""
        await self._client.hset(_STATES, self.text, json.dumps(state))

    async def _hold(self, name: str) -> bool:
        milliseconds = int(ALIVE_SECONDS * 1_000)
        held = await self._hold_script([_ALIVE + name], [self._word, milliseconds])
        return int(held) == 1


def landers() -> dict[str, dict[str, Any]]:
    """The last report of every lander, by name: inFlight, waitingRows, waitingEntries,
    sentPerSecond, lastError, at (Unix seconds), upstreams. Raises redis.RedisError.
    """
    reports = cast(dict[bytes, bytes], client().hgetall(_STATES))
    found = {name.decode(): json.loads(text) for name, text in sorted(reports.items())}
    lately = time.time() - _STATE_SECONDS
    if silent := [name for name, state in found.items() if state["at"] < lately]:
        client().hdel(_STATES, *silent)
    return {name: state for name, state in found.items() if name not in silent}

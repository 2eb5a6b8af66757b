"""Pages of the last minute, in Redis: what searches do not see yet, all processes see here at once.

With a window the features need no refresh before each batch, so that their index keeps few and large segments. Without one, or
while Redis does not answer, each batch is preceded by a refresh; decisions are the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from es_dedup.errors import DedupError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis import Redis

SECONDS: Final = 60.0  # many times the time until a search sees a write
KEPT: Final = 64  # latest pages of one term
LIMIT: Final = 50  # pages named for one page
SOCKET_SECONDS: Final = 1.0

# Reads and registers in one step, page by page: of two equal pages the later one always sees the former.
SCRIPT: Final = """
local ask = cjson.decode(ARGV[1])
local found = {}
for place, page in ipairs(ask.pages) do
  local shared, names = {}, {}
  for _, term in ipairs(page.asks) do
    for _, name in ipairs(redis.call('LRANGE', ask.prefix .. term, 0, -1)) do
      if name ~= page.name then
        if not shared[name] then names[#names + 1] = name end
        shared[name] = (shared[name] or 0) + 1
      end
    end
  end
  for _, term in ipairs(page.has) do
    local key = ask.prefix .. term
    redis.call('LREM', key, 0, page.name)
    redis.call('LPUSH', key, page.name)
    redis.call('LTRIM', key, 0, ask.kept - 1)
    redis.call('PEXPIRE', key, ask.milliseconds)
  end
  table.sort(names, function(a, b)
    if shared[a] ~= shared[b] then return shared[a] > shared[b] end
    return a < b
  end)
  local best = {}
  for n = 1, math.min(#names, ask.limit) do best[n] = names[n] end
  found[place] = best
end
return found
"""


class WindowUnavailable(DedupError):
    """Redis did not answer; the hook goes on without it."""

    retryable = True
    problem: str
    message = "the window of recent pages does not answer ({problem}): check Redis"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A page whose features have been stored: the terms it is found by, and those it looks for others with."""

    page_id: str
    has: Sequence[str]
    asks: Sequence[str]


class Window(Protocol):
    """Remembers the pages of the last minute by their terms."""

    def meet(self, arrivals: Sequence[Arrival]) -> list[list[str]]:
        """Register pages, in order, and name for each the pages registered before that share a term; most shared first.

        Raises:
            WindowUnavailable: it did not answer; some of the pages may be registered.
        """


class RedisWindow:
    """A window in one Redis server (not a cluster of them: a script has to reach all keys).

    Args:
        client: of that server.
        name: of the index; keys begin with it.
        seconds: how long a page is remembered, many times the refresh interval of the features.
    """

    def __init__(self, client: Redis, name: str, *, seconds: float = SECONDS) -> None:
        self._client, self._prefix, self._seconds = client, f"es-dedup:window:{name}:", seconds
        self._script = client.register_script(SCRIPT)

    @classmethod
    def open(cls, url: str, name: str, *, seconds: float = SECONDS) -> RedisWindow:
        """Over ``redis://host:port/number``; nothing is sent yet.

        Raises:
            MissingExtra: the client for Redis is not installed.
        """
        try:
            from redis import Redis  # noqa: PLC0415 - of an extra
        except ImportError as error:
            raise MissingExtra("redis", "celery", "the window of recent pages") from error
        client = Redis.from_url(url, socket_timeout=SOCKET_SECONDS, socket_connect_timeout=SOCKET_SECONDS)
        return cls(client, name, seconds=seconds)

    def meet(self, arrivals: Sequence[Arrival]) -> list[list[str]]:
        """See ``Window.meet``."""
        from redis import RedisError  # noqa: PLC0415 - of an extra

        if not arrivals:
            return []
        ask = {
            "prefix": self._prefix,
            "milliseconds": round(1000 * self._seconds),
            "kept": KEPT,
            "limit": LIMIT,
            "pages": [
                {"name": each.page_id, "has": list(each.has), "asks": list(each.asks)} for each in arrivals
            ],
        }
        try:
            found: Any = self._script(args=[json.dumps(ask)])
        except RedisError as error:
            raise WindowUnavailable(str(error) or type(error).__name__) from error
        return [[name.decode() if isinstance(name, bytes) else name for name in names] for names in found]

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

"""Claims of content hashes: documents that are made only where there is none, in the index ``meta``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from es_dedup.errors import IndexUnavailable, WriteFailed
from es_dedup.index.claims import Claim
from es_dedup.index.elastic.bulk import Write, write_all
from es_dedup.index.elastic.mappings import META, alias_of
from es_dedup.index.elastic.reading import documents, pages_of_hits
from es_dedup.index.elastic.server import CONFLICT, reads_answers
from es_dedup.index.elastic.tokens import hash_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_dedup.index.elastic.bulk import Result
    from es_dedup.index.elastic.options import Options
    from es_dedup.index.elastic.server import Server

KIND: Final = "claim"
TRIES: Final = 10  # to claim while others claim and release
FORGOTTEN_AT_A_TIME: Final = 5_000


@reads_answers()
class ElasticClaims:
    """See ``es_dedup.index.claims.Claims``; over the index ``meta`` of one name, which is there already.

    Args:
        server: where to.
        name: of the index on the server.
        options: times of requests.
    """

    def __init__(self, server: Server, name: str, options: Options) -> None:
        self._server, self._options = server, options
        self._index = alias_of(name, META)

    def close(self) -> None:
        """Let go of the connections; may be called twice."""
        self._server.close()

    def claim(self, wanted: Mapping[int, str]) -> dict[int, Claim]:
        """See ``Claims.claim``."""
        found: dict[int, Claim] = {}
        waiting = dict(wanted)
        for _ in range(TRIES):
            if not waiting:
                return found
            taken = []
            for (content_hash, page_id), result in zip(waiting.items(), self._create(waiting), strict=True):
                if result.status == CONFLICT:
                    taken.append(content_hash)
                elif result.done and result.condition is not None:
                    found[content_hash] = Claim(content_hash, page_id, result.condition)
                else:
                    raise WriteFailed(self._server.name, f"a content could not be claimed: {result.reason}")
            found |= self._held(taken)
            waiting = {
                content_hash: wanted[content_hash] for content_hash in taken if content_hash not in found
            }
        raise IndexUnavailable(self._server.name, "contents are being claimed and released by others")

    def release(self, claims: Iterable[Claim]) -> None:
        """See ``Claims.release``."""
        self._write(
            [Write("delete", self._index, _key(each.content_hash), condition=each.version) for each in claims]
        )

    def forget(self, before: int) -> int:
        """See ``Claims.forget``."""
        self._server.call(lambda client: client.indices.refresh(index=self._index))
        query = {"bool": {"filter": [{"term": {"kind": KIND}}, {"range": {"at": {"lt": before}}}]}}
        forgotten = 0
        for hits in pages_of_hits(
            self._server, self._index, query, [{"_seq_no": "asc"}], size=FORGOTTEN_AT_A_TIME, fields=["kind"]
        ):
            self._write([Write("delete", self._index, hit["_id"]) for hit in hits])
            forgotten += len(hits)
        return forgotten

    def _create(self, wanted: Mapping[int, str]) -> list[Result]:
        now = int(time.time() * 1000)
        return self._write(
            [
                Write("create", self._index, _key(key), {"kind": KIND, "page_id": page_id, "at": now})
                for key, page_id in wanted.items()
            ]
        )

    def _held(self, hashes: Iterable[int]) -> dict[int, Claim]:
        """Claims as they are now; those that are gone are absent."""
        keys = {_key(each): each for each in hashes}
        return {
            keys[document["_id"]]: Claim(
                keys[document["_id"]],
                document["_source"]["page_id"],
                (document["_seq_no"], document["_primary_term"]),
            )
            for document in documents(self._server, self._index, keys)
        }

    def _write(self, writes: list[Write]) -> list[Result]:
        options = self._options
        return write_all(self._server, writes, chunk_bytes=options.chunk_bytes, seconds=options.retry_seconds)


def _key(content_hash: int) -> str:
    return f"{KIND}:{hash_token(content_hash)}"

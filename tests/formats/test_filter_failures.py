"""What cannot be read or written while a dump is copied: no damaged record is written, and the cause is told."""

import gzip
from pathlib import Path

import pytest

from es_dedup import Page
from es_dedup.dumps import DumpCopy, filter_dumps
from es_dedup.readers import InputFailure, read_pages, streams, warc
from tests.formats.test_filter import (
    FERRY,
    LIBRARY,
    PACKERS,
    ROWS,
    UNPACKERS,
    archive,
    filtered,
    json_line,
    wet_record,
)


@pytest.mark.parametrize("cut", [0, 1, 4, 9, 60])
@pytest.mark.parametrize("packing", ["", ".gz", ".xz"])
@pytest.mark.parametrize("kind", ["conversion", "metadata"])
def test_a_record_without_an_end_is_left_out_and_told(
    tmp_path: Path, kind: str, packing: str, cut: int
) -> None:
    """Wherever the last member or record is cut; of a member also where its checksum is wrong (0)."""
    records = [wet_record(number, "conversion", text) for number, text in enumerate((FERRY, LIBRARY))]
    last = wet_record(9, kind, "He counted seven herons beside the canal. " * 9)
    if packing == ".gz":
        last = last[:-cut] if cut else last[:-8] + bytes([last[-8] ^ 1]) + last[-7:]
    else:
        records, last = list(map(gzip.decompress, records)), gzip.decompress(last)
        last = last[: len(last) - cut]
    whole = packing != ".gz" and cut <= len("\r\n\r\n")  # but for the empty lines after it
    path = tmp_path / f"dump.warc{packing}"
    pack, unpack = (bytes, bytes) if packing == ".gz" else (PACKERS[packing], UNPACKERS[packing])
    path.write_bytes(pack(b"".join([*records, last])))
    kept, _, report = filtered(path)
    scanned = list(read_pages([path]))
    failures = [str(each) for each in scanned if isinstance(each, InputFailure)]
    assert unpack(kept) == b"".join([*records, *([last] if whole else [])])
    assert ["cut short" in each or "damaged" in each for each in failures] == [True] * (not whole)
    assert list(map(str, report.failures)) == failures
    assert report.kept == sum(isinstance(each, Page) for each in scanned)


DUMP_KINDS = {
    "a.jsonl": b"".join(json_line(*row) for row in ROWS),
    "a.jsonl.gz": gzip.compress(b"".join(json_line(*row) for row in ROWS)),
    "a.json": b"[" + b",".join(json_line(*row) for row in ROWS) + b"]",
    "a.csv": "".join(f"{name},{text}\n" for name, text in [("id", "text"), *ROWS]).encode(),
}


def _dump(folder: Path, name: str) -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        pq = pytest.importorskip("pyarrow.parquet")
        pa = pytest.importorskip("pyarrow")
        pq.write_table(pa.table({"id": [row[0] for row in ROWS], "text": [row[1] for row in ROWS]}), path)
    elif ".warc" in name:
        data = b"".join(map(gzip.compress, archive())) if name.endswith(".gz") else b"".join(archive())
        path.write_bytes(PACKERS[".xz"](data) if name.endswith(".xz") else data)
    else:
        path.write_bytes(DUMP_KINDS[name])
    return path


@pytest.mark.parametrize("name", [*DUMP_KINDS, "a.parquet", "a.warc", "a.warc.gz", "a.warc.xz"])
def test_an_output_that_cannot_be_written_is_no_unreadable_input(tmp_path: Path, name: str) -> None:
    dump = _dump(tmp_path, name)
    with pytest.raises(OSError, match="No space left"), Path("/dev/full").open("wb", buffering=0) as full:
        filter_dumps([DumpCopy(dump, full)])


@pytest.mark.parametrize("name", ["a.warc.xz", "pipe"])
def test_a_full_temporary_folder_is_no_damaged_input(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = _dump(tmp_path, "a.warc.xz")
    if name == "pipe":
        dump = dump.rename(tmp_path / "pipe")  # without a suffix it is stored as a pipe is
    for module, maker in ((warc, "TemporaryFile"), (streams, "NamedTemporaryFile")):
        monkeypatch.setattr(module, maker, lambda: Path("/dev/full").open("wb", buffering=0))  # noqa: SIM115
    (failure,) = read_pages([dump])
    assert "no space is left for temporary files" in str(failure)

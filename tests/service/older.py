"""Dumps of records as older versions wrote them."""

from __future__ import annotations

import json

VERSIONS = (3, 4, 5, 6, 7)


def older(data: bytes, version: int) -> bytes:
    """The dump as that version wrote it. Before version 4, jobs have rows for all of their tasks:
    these have to."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    header["version"] = version
    del header["oldest"]
    header["jobs"] = [[work, *row[:-2], row[-1]] for work, *row in header["jobs"]]
    if version < 7:
        del header["marks"]
    if version < 6:
        header["jobs"] = [[work, *row[:-2], row[-1]] for work, *row in header["jobs"]]
    if version < 5:
        del header["start"]["owner"]
        header["jobs"] = [[work, *row[:5], *row[7:]] for work, *row in header["jobs"]]
    if version == 3:
        header["jobs"] = [[work, *row[:4], *row[5:]] for work, *row in header["jobs"]]
        header["keys"] = [[by, key, *rest[:2]] for by, _, key, *rest in header["keys"]]
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[end:]

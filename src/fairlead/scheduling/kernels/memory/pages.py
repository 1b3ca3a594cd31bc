"""Memory for tables: large ones lie in large pages.

An event reads here and there in the tables of a large cluster, and in pages of 4 KiB these are more
than a processor keeps the addresses of. NumPy asks the system for large pages where an array has
4 MiB and more; so tables of 2 to 4 MiB share such an array. A table begins where a
line of the processor's cache does. See docs/decisions/0177-less-memory-is-read.md.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

SMALL = 1 << 21
"""Tables of fewer bytes, which would not fill a large page, are arrays of their own: such a page is
made empty as a whole, which took longer than all else that begins a short run."""
SHEET = 1 << 24
"""Bytes of an array that tables share. What is not used of it costs no memory."""
LINE = 64


class Pages:
    """Where tables are taken from. A sheet is given back when the last of its tables is."""

    def __init__(self) -> None:
        self._sheet = np.zeros(0, np.uint8)
        self._taken = 0

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An array of zeros."""
        size = prod(shape) * dtype.itemsize
        if size < SMALL or size > SHEET // 4:
            sheet = np.zeros(size + LINE, np.uint8)
            first = -sheet.ctypes.data % LINE
        else:
            if self._taken + size > len(self._sheet):
                self._sheet = np.zeros(SHEET, np.uint8)
                self._taken = -self._sheet.ctypes.data % LINE
            sheet, first = self._sheet, self._taken
            self._taken += -(-size // LINE) * LINE
        return sheet[first : first + size].view(dtype).reshape(shape)

"""Share the items of a list out among threads, each of which takes the next when it is done with one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_int64
from typing import Any

import torch


def shared(work: Callable[..., int], items: int, *arguments: Any) -> None:
    """Call a kernel, whose last argument is the counter of items taken, on as many threads as torch has.

    The interpreter is free while a kernel runs. A kernel returns 0, or 1 where it found no memory to work in; what it
    did not take, another one takes.
    """
    following = c_int64(0)
    threads = max(1, min(torch.get_num_threads(), items))

    def one(_: int) -> int:
        return int(work(*arguments, byref(following)))

    if threads == 1:
        failed = [one(0)]
    else:
        with ThreadPoolExecutor(threads) as pool:
            failed = list(pool.map(one, range(threads)))
    if all(failed):
        raise MemoryError("there is no memory left for a round")

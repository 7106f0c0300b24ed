"""Threads that do small tasks, and never have more than a few waiting."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Task = Callable[[], None]


class Lane:
    """A thread of its own for one kind of task, done in order; a task beyond the `most` that wait is not taken."""

    def __init__(self, name: str, most: int) -> None:
        self._most = most
        self._waiting: deque[Task] = deque()
        self._news = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def add(self, task: Task) -> bool:
        """Have the task done after those before it; False if too many wait."""
        with self._news:
            if self._closed or len(self._waiting) >= self._most:
                return False
            self._waiting.append(task)
            self._news.notify()
            return True

    def close(self) -> None:
        """Forget what waits and end the thread, after the task that it is at."""
        with self._news:
            self._closed = True
            self._waiting.clear()
            self._news.notify()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            task()
            del task  # a task holds a message, and the next may be long in coming

    def _next(self) -> Task | None:
        with self._news:
            while not self._waiting and not self._closed:
                self._news.wait()
            return self._waiting.popleft() if self._waiting else None


class Turns:
    """A lane that sites share by turns: of each the newest few tasks wait, so a flood of one drowns nobody else."""

    def __init__(self, name: str, each: int) -> None:
        self._each = each
        self._waiting: dict[str, deque[Task]] = {}
        self._lock = threading.Lock()
        self._lane = Lane(name, 1)

    def add(self, site: str, task: Task) -> None:
        """Have a site's task done in its turn; its oldest one is dropped if too many wait."""
        with self._lock:
            self._waiting.setdefault(site, deque(maxlen=self._each)).append(task)
        self._lane.add(self._round)

    def close(self) -> None:
        """Forget what waits and end the thread."""
        with self._lock:
            self._waiting.clear()
        self._lane.close()

    def _round(self) -> None:
        """One task of each site that has any, until none has."""
        while tasks := self._first():
            for task in tasks:
                task()

    def _first(self) -> list[Task]:
        with self._lock:
            tasks = [waiting.popleft() for waiting in self._waiting.values() if waiting]
            self._waiting = {site: waiting for site, waiting in self._waiting.items() if waiting}
            return tasks

"""How many threads a computation may start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["may_start_threads", "one_thread"]

_ALLOWED = ContextVar("_ALLOWED", default=True)


@contextmanager
def one_thread() -> Iterator[None]:
    """Computations of this thread start no others: every processor has its own work already."""
    token = _ALLOWED.set(False)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def may_start_threads() -> bool:
    """Whether a computation may use several processors.

    >>> with one_thread():
    ...     may_start_threads()
    False
    >>> may_start_threads()
    True
    """
    return _ALLOWED.get()

"""Loops that numba compiles, if the extra ``fast`` is installed and can be used.

A loop is compiled at its first call, which is after a fit was paid for. So nothing may fail then
that would not fail without numba: if it cannot be imported, the same is computed without it, and if
no folder can be written to, what is compiled is not kept for later processes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

__all__ = ["Compiled", "can_compile"]


@cache
def can_compile() -> bool:
    """Whether numba is there and can be imported: it refuses versions of NumPy, for instance."""
    if find_spec("numba") is None:
        return False
    try:
        import numba  # noqa: F401
    except Exception:
        return False
    return True


class Compiled:
    """A function as numba compiles it.

    Parameters
    ----------
    function
        A loop over arrays and numbers, which reads and writes no file.
    fastmath
        What may be done to operations on numbers in floating point.
    """

    def __init__(self, function: Callable[..., Any], fastmath: bool | set[str] = False) -> None:
        self._function, self._fastmath = function, fastmath
        try:
            self._compiled = self._new(kept=True)
        except RuntimeError:  # there is no folder that numba may write to
            self._compiled = self._new(kept=False)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self._compiled(*arguments)
        except Exception:
            # What is kept could not be written or read, or is damaged. A loop itself fails for want
            # of memory only, before it adds to anything.
            self._compiled = self._new(kept=False)
            return self._compiled(*arguments)

    def _new(self, *, kept: bool) -> Callable[..., Any]:
        from numba import njit

        compiler = njit(cache=kept, nogil=True, error_model="numpy", fastmath=self._fastmath)
        compiled: Callable[..., Any] = compiler(self._function)
        return compiled

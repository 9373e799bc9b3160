"""Secure noise that is the same in every run of the tests, and of each test alone.

A fit without a seed draws its noise from OpenSSL. Then a test of it fails once in a while, for
example when noise moves a count over a threshold. While tests run, OpenSSL's bytes are replaced by
a stream whose seed is the name of the test, or of the fixture that is being made. Set
``DPFAIR_TESTS=secure`` to test with OpenSSL's bytes. Processes that tests start always use these.
"""

from __future__ import annotations

import hashlib
import os
import ssl

import numpy as np

from dpfair.privacy import noise

__all__ = ["begin", "install"]


class _Bytes:
    """Stands for the module ``ssl``."""

    def __init__(self) -> None:
        self.begin("")

    def begin(self, name: str) -> None:
        """Start the stream of this name."""
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest(), "big")
        self._generator, self._process = np.random.default_rng(seed), os.getpid()

    def RAND_bytes(self, count: int) -> bytes:
        """The next bytes; a process that was forked has others than its parent."""
        if self._process != os.getpid():
            return ssl.RAND_bytes(count)
        return self._generator.bytes(count)


_bytes = _Bytes()
begin = _bytes.begin


def install() -> None:
    """Let all secure noise of this process be repeatable from now on."""
    if os.environ.get("DPFAIR_TESTS") != "secure":
        noise.ssl = _bytes  # type: ignore[assignment]

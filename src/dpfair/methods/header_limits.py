"""How long the text of a model file may be; :mod:`dpfair.methods.limits` has other limits."""

from __future__ import annotations

from dpfair.errors import InputError

__all__ = ["MAX_BYTES", "MAX_HEADER", "check_text"]

MAX_BYTES = 32 << 20
# Python needs up to seventy times the length of a text for what it says.
MAX_HEADER = 4 << 20
MAX_BRACKETS = 100_000


def check_text(text: str) -> None:
    """A header that can be read with little memory."""
    if len(text) > MAX_HEADER or text.count("[") + text.count("{") > MAX_BRACKETS:
        raise InputError("Its header is too long.")

"""Numbers and rows of Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scripts.panel.summary import Mean

__all__ = ["digits", "header", "row", "signed", "with_error"]


def header(name: str, cells: Sequence[str]) -> Iterator[str]:
    """The first two lines of a table."""
    yield row(name, cells)
    yield "|---" * (len(cells) + 1) + "|"


def row(name: str, cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {name} | " + " | ".join(cells) + " |"


def with_error(mean: Mean) -> str:
    """A mean with its standard error, if it has one.

    >>> with_error(Mean(0.8125, 0.00125)), with_error(Mean(0.8125, None))
    ('.8125 ± .0013', '.8125')
    """
    return digits(mean.value) + ("" if mean.error is None else f" ± {digits(mean.error)}")


def signed(mean: Mean) -> str:
    """A difference with its sign and its standard error."""
    return f"{mean.value:+.4f}" + ("" if mean.error is None else f" ± {digits(mean.error)}")


def digits(number: float | None) -> str:
    """Four digits after the point, none before it."""
    return "" if number is None else f"{number:.4f}".removeprefix("0")

"""Numbers of the page as text."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.bench.probe import drifted
from benchmarks.bench.rounds import Results
from benchmarks.bench.sections import Section
from benchmarks.bench.summary import Spread, ratios, values

__all__ = ["COLUMNS", "DRIFTED", "cell"]

DRIFTED = "machine drifted"

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
RATES = ((1e6, "million/s"), (1e3, "thousand/s"), (1.0, "/s"))
MEGABYTES = ((1e6, "MB"),)

Cell = Callable[[Section, Results, str], str]


def cell(column: str, section: Section, results: Results, title: str) -> str:
    """One number with its range, or a dash if the contender was not measured."""
    return COLUMNS[column][1](section, results, title)


def measured(key: str, scales: tuple[tuple[float, str], ...]) -> Cell:
    """The cells of a column of measured values."""

    def of(section: Section, results: Results, title: str) -> str:
        return ranged(values(results, title, key, per_unit=bool(section.unit)), scales)

    return of


def compared(key: str) -> Cell:
    """The cells of a column of ratios to the first contender."""

    def of(section: Section, results: Results, title: str) -> str:
        first = section.contenders[0].title
        if title == first:
            return "1"
        if key == "cpu" and drifted(results["probes"]):
            return DRIFTED
        return ranged(ratios(results, title, first, key), ((1.0, ""),))

    return of


COLUMNS: dict[str, tuple[str, Cell]] = {
    "cpu": ("CPU time", measured("cpu", TIMES)),
    "wall": ("wall time", measured("wall", TIMES)),
    "wall ratio": ("× the first", compared("wall")),
    "rate": ("rows per second of wall time", measured("rate", RATES)),
    "cpu rate": ("per second", measured("cpu rate", RATES)),
    "ratio": ("× the first", compared("cpu")),
    "peak": ("peak memory", measured("peak", MEGABYTES)),
    "peak ratio": ("× the first", compared("peak")),
}
"""The heading of each column and what makes its cells."""


def ranged(numbers: list[float], scales: tuple[tuple[float, str], ...]) -> str:
    """The median with its range, in the largest unit that it fills.

    >>> ranged([0.0123, 0.0131, 0.0127], TIMES)
    '12.7 ms (12.3–13.1)'
    """
    if not numbers:
        return "–"
    spread = Spread.of(numbers)
    scale, name = next(((s, n) for s, n in scales if spread.median >= s), scales[-1])
    text = f"{digits(spread.median / scale)} {name}".strip()
    if len(numbers) == 1:
        return text
    return f"{text} ({digits(spread.low / scale)}–{digits(spread.high / scale)})"


def digits(number: float) -> str:
    """Three digits, and whole numbers from a hundred on.

    >>> [digits(x) for x in (0.1234, 1.234, 12.34, 1234.5)]
    ['0.123', '1.23', '12.3', '1,234']
    """
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:#.3g}" if number else "0"

"""How cost grows with the rows, as an SVG with logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.etree.ElementTree import tostring

from dpfair.experiments.plot import (
    BOTTOM,
    HEIGHT,
    LEFT,
    TOP,
    WIDTH,
    add_line,
    add_point,
    add_text,
    canvas,
)

__all__ = ["Curve", "growth_plot"]

Curve = Sequence[tuple[float, float]]
"""Pairs of rows and cost."""

COLORS = ("#0e6b6e", "#3aa6a0", "#b3541e", "#c98a2b", "#6b4fa0", "#7a7a7a")
GRID, TEXT = "#ccc", "#666"
NAMES = 250
"""The width of the names, at the right of the plot."""


def growth_plot(curves: Mapping[str, Curve], title: str, unit: str) -> str:
    """One line per name; every curve has a point at least."""
    points = [point for curve in curves.values() for point in curve]
    across, up = powers([x for x, _ in points]), powers([y for _, y in points])

    def x(value: float) -> float:
        share = (math.log10(value) - across[0]) / (across[-1] - across[0])
        return LEFT + share * (WIDTH - LEFT - NAMES)

    def y(value: float) -> float:
        share = (math.log10(value) - up[0]) / (up[-1] - up[0])
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)

    svg = canvas(title)
    # On a page of its own, in light or dark; the names of the axes are grey for the same reason.
    svg.set("xmlns", "http://www.w3.org/2000/svg")
    svg.set("fill", TEXT)
    for power in across:
        at = x(10.0**power)
        add_line(svg, at, TOP, at, HEIGHT - BOTTOM, GRID)
        add_text(svg, at, HEIGHT - BOTTOM + 16, f"{10**power:,}", "middle")
    for power in up:
        at = y(10.0**power)
        add_line(svg, LEFT, at, WIDTH - NAMES, at, GRID)
        add_text(svg, LEFT - 6, at + 4, f"{10.0**power:g}", "end")
    add_text(svg, (LEFT + WIDTH - NAMES) / 2, HEIGHT - 8, "rows", "middle")
    add_text(svg, LEFT + 4, TOP + 12, unit, "start")
    for i, ((name, curve), color) in enumerate(zip(curves.items(), COLORS, strict=False)):
        for (x1, y1), (x2, y2) in pairwise(curve):
            add_line(svg, x(x1), y(y1), x(x2), y(y2), color)
        for rows, cost in curve:
            add_point(svg, x(rows), y(cost), color, filled=True)
        at = TOP + 12 + 20 * i
        add_point(svg, WIDTH - NAMES + 14, at - 4, color, filled=True)
        add_text(svg, WIDTH - NAMES + 24, at, name, "start")
    return tostring(svg, encoding="unicode") + "\n"


def powers(numbers: Sequence[float]) -> list[int]:
    """The powers of ten that span the numbers, two at least.

    >>> powers([0.2, 30.0])
    [-1, 0, 1, 2]
    """
    low = math.floor(math.log10(min(numbers)))
    return list(range(low, max(math.ceil(math.log10(max(numbers))), low + 1) + 1))

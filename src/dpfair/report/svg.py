"""Small plots as inline SVG, without any plotting library.

Horizontal positions are percentages and there is no view box, so a plot fills its column while
its text keeps its size, on a phone and on paper. Colours are classes, which the page's style sheet
fills in for light, dark and print. The elements are built as XML, hence every name is escaped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from markupsafe import Markup

__all__ = ["Move", "bar", "frontier_plot", "histogram", "interval_plot", "ticks"]

Element = ElementTree.Element
Interval = tuple[float, float]

LEGEND, ROW, SHORT_ROW, AXIS = 34, 72, 52, 26
FRONTIER, HISTOGRAM = 240, 58
LONGEST_NAME = 34


@dataclass(frozen=True)
class Move:
    """A rate of one group after the rule and, where known, before it, with intervals if any."""

    name: str
    before: float | None
    after: float
    before_interval: Interval | None
    after_interval: Interval | None


def interval_plot(moves: Sequence[Move], title: str) -> Markup:
    """Dots with intervals: per group a hollow one before the rule and a solid one after.

    Examples
    --------
    >>> plot = interval_plot([Move("a < b", 0.1, 0.2, (0.08, 0.12), (0.17, 0.23))], "Rates")
    >>> plot.count("<circle"), "a &lt; b" in plot
    (4, True)
    """
    ends = [x for m in moves for x in (*(m.before_interval or ()), *(m.after_interval or ()))]
    ends += [m.after for m in moves]
    marks = ticks(min(ends), max(ends))
    both = any(m.before is not None for m in moves)
    top, row = (LEGEND, ROW) if both else (0, SHORT_ROW)
    bottom = top + row * len(moves)
    svg = _svg(bottom + AXIS, title)
    for mark in marks:
        _line(svg, "grid", (_x(mark, marks), top), (_x(mark, marks), bottom))
    if both:
        _legend(svg, (("before", "the scorer alone", 6), ("after", "after the rule", 142)))
    for i, move in enumerate(moves):
        _row(svg, move, marks, top + row * i)
    _axis(svg, marks, bottom)
    return _markup(svg)


def frontier_plot(
    curves: Sequence[Sequence[tuple[float, float]]],
    own: tuple[float, float] | None,
    title: str,
    certified: tuple[float, float] | None = None,
) -> Markup:
    """Accuracy against the gap: the estimates, the certified pairs if any, and the model itself.

    The model is a ring at its estimates and a ring with a dot at its ``certified`` numbers.

    Examples
    --------
    >>> frontier_plot([[(0.0, 0.8), (0.1, 0.85)]], (0.0, 0.8), "Trade-offs").count("<circle")
    5
    """
    marked = [point for point in (own, certified) if point is not None]
    points = [point for curve in curves for point in curve] + marked
    across = ticks(0.0, max(gap for gap, _ in points))
    up = ticks(min(a for _, a in points), max(a for _, a in points), near=True)
    bottom = LEGEND + FRONTIER
    svg = _svg(bottom + AXIS + 18, title)

    def place(point: tuple[float, float]) -> tuple[str, int]:
        share = (100 * point[1] - up[0]) / (up[-1] - up[0])
        return _x(100 * point[0], across, left=0.08), round(bottom - FRONTIER * share)

    for mark in up:
        y = place((0.0, mark / 100))[1]
        _line(svg, "grid", ("8%", y), ("100%", y))
        _text(svg, f"{mark:.4g}%", "7%", y + 4, "tick", "end")
    for curve, kind in zip(curves, ("after", "before"), strict=False):
        for start, end in itertools.pairwise(map(place, curve)):
            _line(svg, f"curve {kind}", start, end)
        for point in curve:
            _dot(svg, kind, *place(point), size=4)
    if own is not None:
        _dot(svg, "own", *place(own), size=9)
    if certified is not None:
        _dot(svg, "own", *place(certified), size=9)
        _dot(svg, "sure", *place(certified), size=4)
    kinds = [("after", "estimated")]
    kinds += [("before", "certified")] if len(curves) > 1 else []
    kinds += [("own", "this model")] if own else []
    kinds += [("sure", "this model, certified")] if certified else []
    _legend(svg, [(kind, words, 6 + 100 * i) for i, (kind, words) in enumerate(kinds)])
    _axis(svg, across, bottom, left=0.08)
    _text(svg, "gap between groups →", "100%", bottom + 36, "tick", "end")
    _text(svg, "accuracy ↑", "0%", bottom + 36, "tick", "start")
    return _markup(svg)


def histogram(rows: Sequence[Sequence[float]], cuts: Sequence[float], title: str) -> Markup:
    """Bars over the score from 0 to 1 and lines where a rule cuts.

    The height of a bar is the square root of its count, so that few records show, too; its
    colours have the shares of the rows, the last row lowest.

    Examples
    --------
    >>> histogram([[3, 1], [1, 4]], [0.4], "Scores").count("<rect")
    4
    """
    totals = [sum(column) for column in zip(*rows, strict=True)]
    tallest = math.sqrt(max(totals)) or 1.0
    svg = _svg(HISTOGRAM + 18, title)
    for i, total in enumerate(totals):
        y, whole = float(HISTOGRAM), HISTOGRAM * math.sqrt(total) / tallest
        for kind, row in zip(("strong", "plain"), rows[::-1], strict=False):
            height = whole * row[i] / total if total > 0 else 0.0
            y -= height
            box = {"x": _percent(i / len(totals)), "width": _percent(0.92 / len(totals))}
            box |= {"y": f"{y:.2f}", "height": f"{height:.2f}"}
            ElementTree.SubElement(svg, "rect", {"class": f"bar {kind}", **box})
    _line(svg, "base", ("0%", HISTOGRAM), ("100%", HISTOGRAM))
    for cut in cuts:
        _line(svg, "cut", (_percent(cut), 0), (_percent(cut), HISTOGRAM + 4))
    for score, anchor in ((0, "start"), (0.5, "middle"), (1, "end")):
        _text(svg, f"{score:g}", _percent(score), HISTOGRAM + 15, "tick", anchor)
    return _markup(svg)


def bar(value: float, limit: float, title: str, kind: str = "plain") -> Markup:
    """One horizontal bar of length value / limit, on a track of full length.

    Examples
    --------
    >>> "50.000%" in bar(1.5, 3, "half of the budget")
    True
    """
    share = min(1.0, max(0.0, value / limit)) if limit > 0 and math.isfinite(value) else 1.0
    svg = _svg(12, title)
    for name, width in (("track", 1.0), (f"bar {kind}", share)):
        size = {"x": "0", "y": "1", "width": _percent(width), "height": "10", "rx": "2"}
        ElementTree.SubElement(svg, "rect", {"class": name, **size})
    return _markup(svg)


def ticks(low: float, high: float, *, near: bool = False) -> list[float]:
    """Round percentages that span the rates; from zero, unless all rates are far from it.

    With ``near`` they only span the rates.

    Examples
    --------
    >>> ticks(0.077, 0.278)
    [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]
    >>> ticks(0.81, 0.835)
    [81.0, 82.0, 83.0, 84.0]
    >>> ticks(0.0, 0.0)
    [0.0, 1.0]
    """
    low, high = 100 * low, max(100 * high, 1.0)
    if low < high / 2 and not near:
        low = 0.0
    steps = [base * 10.0**power for power in (0, 1) for base in (1, 2, 5)]
    step = next((s for s in steps if (high - low) / s <= 7), 20.0)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * i for i in range(first, max(last, first + 1) + 1)]


def _row(svg: Element, move: Move, marks: Sequence[float], top: int) -> None:
    after = _x(100 * move.after, marks)
    _text(svg, _short(move.name), "0%", top + 18, "name", "start")
    shown, y = f"{move.after:.1%}", top + 34
    if move.before is not None:
        shown, y = f"{move.before:.1%} → {shown}", top + 50
        before = _x(100 * move.before, marks)
        _line(svg, "shift", (before, top + 34), (after, y))
        _whisker(svg, "before", before, move.before_interval, marks, top + 34)
    _text(svg, shown, "100%", top + 18, "value", "end")
    _whisker(svg, "after", after, move.after_interval, marks, y)


def _whisker(
    svg: Element, kind: str, dot: str, ends: Interval | None, marks: Sequence[float], y: int
) -> None:
    if ends is not None:
        low, high = (_x(100 * end, marks) for end in ends)
        _line(svg, f"interval {kind}", (low, y), (high, y))
        for end in (low, high):
            _line(svg, f"cap {kind}", (end, y - 4), (end, y + 4))
    _dot(svg, kind, dot, y)


def _axis(svg: Element, marks: Sequence[float], bottom: int, left: float = 0.0) -> None:
    for mark in marks:
        anchor = {marks[0]: "start", marks[-1]: "end"}.get(mark, "middle")
        _text(svg, f"{mark:.4g}%", _x(mark, marks, left), bottom + 18, "tick", anchor)


def _legend(svg: Element, entries: Sequence[tuple[str, str, int]]) -> None:
    for kind, words, x in entries:
        _dot(svg, kind, str(x), 11)
        _text(svg, words, str(x + 11), 15, "tick", "start")


def _svg(height: int, title: str) -> Element:
    size = {"width": "100%", "height": str(height)}
    return Element("svg", {"role": "img", "aria-label": title, **size})


def _line(svg: Element, kind: str, start: tuple[str, int], end: tuple[str, int]) -> None:
    (x1, y1), (x2, y2) = start, end
    ends = {"x1": x1, "y1": str(y1), "x2": x2, "y2": str(y2)}
    ElementTree.SubElement(svg, "line", {"class": kind, **ends})


def _dot(svg: Element, kind: str, x: str, y: int, size: int = 5) -> None:
    ElementTree.SubElement(svg, "circle", {"class": kind, "cx": x, "cy": str(y), "r": str(size)})


def _text(svg: Element, words: str, x: str, y: int, kind: str, anchor: str) -> None:
    place = {"x": x, "y": str(y), "text-anchor": anchor}
    ElementTree.SubElement(svg, "text", {"class": kind, **place}).text = words


def _x(value: float, marks: Sequence[float], left: float = 0.0) -> str:
    return _percent(left + (1 - left) * (value - marks[0]) / (marks[-1] - marks[0]))


def _percent(share: float) -> str:
    return f"{100 * share:.3f}%"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _markup(svg: Element) -> Markup:
    return Markup(ElementTree.tostring(svg, encoding="unicode"))

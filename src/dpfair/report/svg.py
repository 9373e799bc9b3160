"""Small plots as inline SVG, without any plotting library.

Horizontal positions are percentages and there is no view box, so a plot fills its column while
its text keeps its size, on a phone and on paper. Colours are classes, which the page's style sheet
fills in for light, dark and print. The elements are built as XML, hence every name is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from markupsafe import Markup

__all__ = ["Move", "bar", "interval_plot", "ticks"]

Element = ElementTree.Element
Interval = tuple[float, float]

LEGEND, ROW, AXIS = 34, 72, 26
LONGEST_NAME = 34


@dataclass(frozen=True)
class Move:
    """The acceptance rate of one group before and after the rule, with intervals."""

    name: str
    before: float
    after: float
    before_interval: Interval
    after_interval: Interval


def interval_plot(moves: Sequence[Move], title: str) -> Markup:
    """Dots with intervals: per group a hollow one before the rule and a solid one after.

    Examples
    --------
    >>> plot = interval_plot([Move("a < b", 0.1, 0.2, (0.08, 0.12), (0.17, 0.23))], "Rates")
    >>> plot.count("<circle"), "a &lt; b" in plot
    (4, True)
    """
    ends = [x for m in moves for x in (*m.before_interval, *m.after_interval)]
    marks = ticks(min(ends), max(ends))
    bottom = LEGEND + ROW * len(moves)
    svg = _svg(bottom + AXIS, title)
    for mark in marks:
        _line(svg, "grid", (_x(mark, marks), LEGEND), (_x(mark, marks), bottom))
    _legend(svg)
    for i, move in enumerate(moves):
        _row(svg, move, marks, LEGEND + ROW * i)
    for mark in marks:
        ends_at = {marks[0]: "start", marks[-1]: "end"}
        anchor = ends_at.get(mark, "middle")
        _text(svg, f"{mark:.4g}%", _x(mark, marks), bottom + 18, "tick", anchor)
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


def ticks(low: float, high: float) -> list[float]:
    """Round percentages that span the rates; from zero, unless all rates are far from it.

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
    if low < high / 2:
        low = 0.0
    steps = [base * 10.0**power for power in (0, 1) for base in (1, 2, 5)]
    step = next((s for s in steps if (high - low) / s <= 7), 20.0)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * i for i in range(first, max(last, first + 1) + 1)]


def _row(svg: Element, move: Move, marks: Sequence[float], top: int) -> None:
    before, after = (_x(100 * rate, marks) for rate in (move.before, move.after))
    shown = f"{move.before:.1%} → {move.after:.1%}"
    _text(svg, _short(move.name), "0%", top + 18, "name", "start")
    _text(svg, shown, "100%", top + 18, "value", "end")
    _line(svg, "shift", (before, top + 34), (after, top + 50))
    for kind, dot, interval, y in (
        ("before", before, move.before_interval, top + 34),
        ("after", after, move.after_interval, top + 50),
    ):
        low, high = (_x(100 * end, marks) for end in interval)
        _line(svg, f"interval {kind}", (low, y), (high, y))
        for end in (low, high):
            _line(svg, f"cap {kind}", (end, y - 4), (end, y + 4))
        _dot(svg, kind, dot, y)


def _legend(svg: Element) -> None:
    for kind, words, x in (("before", "the scorer alone", 6), ("after", "after the rule", 142)):
        _dot(svg, kind, str(x), 11)
        _text(svg, words, str(x + 11), 15, "tick", "start")


def _svg(height: int, title: str) -> Element:
    size = {"width": "100%", "height": str(height)}
    return Element("svg", {"role": "img", "aria-label": title, **size})


def _line(svg: Element, kind: str, start: tuple[str, int], end: tuple[str, int]) -> None:
    (x1, y1), (x2, y2) = start, end
    ends = {"x1": x1, "y1": str(y1), "x2": x2, "y2": str(y2)}
    ElementTree.SubElement(svg, "line", {"class": kind, **ends})


def _dot(svg: Element, kind: str, x: str, y: int) -> None:
    ElementTree.SubElement(svg, "circle", {"class": kind, "cx": x, "cy": str(y), "r": "5"})


def _text(svg: Element, words: str, x: str, y: int, kind: str, anchor: str) -> None:
    place = {"x": x, "y": str(y), "text-anchor": anchor}
    ElementTree.SubElement(svg, "text", {"class": kind, **place}).text = words


def _x(value: float, marks: Sequence[float]) -> str:
    return _percent((value - marks[0]) / (marks[-1] - marks[0]))


def _percent(share: float) -> str:
    return f"{100 * share:.3f}%"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _markup(svg: Element) -> Markup:
    return Markup(ElementTree.tostring(svg, encoding="unicode"))

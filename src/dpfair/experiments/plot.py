"""Accuracy against gap, published and ours, with error bars: one inline SVG per table."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from dpfair.experiments.summary import RowResult

__all__ = [
    "BOTTOM",
    "HEIGHT",
    "LEFT",
    "TOP",
    "WIDTH",
    "add_line",
    "add_point",
    "add_text",
    "canvas",
    "scatter",
]

COLORS = {"algorithm2": "#b3541e"}
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 300, 56, 44, 16, 16


def scatter(rows: Sequence[RowResult]) -> str:
    """Hollow points are published, filled ones ours; a line joins the two of a row."""
    gaps = [v for r in rows for v in (r.gap - 2 * r.gap_se, r.gap + 2 * r.gap_se, r.published_gap)]
    accuracies = [
        v
        for r in rows
        for v in (
            r.accuracy - 2 * r.accuracy_se,
            r.accuracy + 2 * r.accuracy_se,
            r.published_accuracy,
        )
    ]
    x_axis, y_axis = _axis(0.0, max(gaps)), _axis(min(accuracies), max(accuracies))

    def x(value: float) -> float:
        low, high = x_axis
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        low, high = y_axis
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - BOTTOM - TOP)

    svg = canvas("Accuracy against gap")
    for i in range(5):
        at_x = x_axis[0] + (x_axis[1] - x_axis[0]) * i / 4
        at_y = y_axis[0] + (y_axis[1] - y_axis[0]) * i / 4
        add_line(svg, x(at_x), TOP, x(at_x), HEIGHT - BOTTOM, "#ddd")
        add_line(svg, LEFT, y(at_y), WIDTH - RIGHT, y(at_y), "#ddd")
        add_text(svg, x(at_x), HEIGHT - BOTTOM + 16, f"{at_x:.3f}", "middle")
        add_text(svg, LEFT - 6, y(at_y) + 4, f"{at_y:.3f}", "end")
    add_text(svg, (LEFT + WIDTH) / 2, HEIGHT - 8, "statistical parity gap", "middle")
    add_text(svg, WIDTH - RIGHT, HEIGHT - 8, "filled: ours, hollow: published", "end")
    add_text(svg, LEFT + 4, TOP + 10, "accuracy", "start")
    for row in rows:
        color = COLORS.get(row.method, "#0e6b6e")
        own_x, own_y = x(row.gap), y(row.accuracy)
        add_line(svg, x(row.published_gap), y(row.published_accuracy), own_x, own_y, "#999", "3 3")
        add_line(svg, x(max(row.gap - row.gap_se, 0)), own_y, x(row.gap + row.gap_se), own_y, color)
        high, low = row.accuracy + row.accuracy_se, row.accuracy - row.accuracy_se
        add_line(svg, own_x, y(low), own_x, y(high), color)
        name = "Algorithm 2" if row.method == "algorithm2" else f"λ {row.weight:g}"
        add_text(svg, own_x + 7, own_y - 6, name, "start")
    for row in rows:  # after all names, so that no name covers a point
        color = COLORS.get(row.method, "#0e6b6e")
        add_point(svg, x(row.published_gap), y(row.published_accuracy), color, filled=False)
        add_point(svg, x(row.gap), y(row.accuracy), color, filled=True)
    return tostring(svg, encoding="unicode")


def canvas(title: str) -> Element:
    """An empty plot."""
    svg = Element(
        "svg",
        {
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "role": "img",
            "font-family": "Helvetica, Arial, sans-serif",
            "font-size": "12",
            "fill": "currentColor",
        },
    )
    SubElement(svg, "title").text = title
    return svg


def _axis(low: float, high: float) -> tuple[float, float]:
    margin = 0.06 * (high - low) or 0.01
    return max(0.0, low - margin), high + 2 * margin


def add_line(
    svg: Element, x1: float, y1: float, x2: float, y2: float, color: str, dash: str = ""
) -> None:
    """A straight line."""
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    attributes = {name: f"{value:.1f}" for name, value in ends.items()} | {"stroke": color}
    SubElement(svg, "line", attributes | ({"stroke-dasharray": dash} if dash else {}))


def add_text(svg: Element, x: float, y: float, words: str, anchor: str) -> None:
    """A few words that start, end or have their middle at a point."""
    attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    SubElement(svg, "text", attributes).text = words


def add_point(svg: Element, x: float, y: float, color: str, *, filled: bool) -> None:
    """A small disc or ring."""
    fill = color if filled else "none"
    attributes = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "4.5", "fill": fill, "stroke": color}
    SubElement(svg, "circle", attributes)

"""The plots stay inside their width, escape names and have readable axes."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from dpfair.report.svg import Move, bar, frontier_plot, histogram, interval_plot, ticks


def test_plots_stay_inside_their_width():
    moves = [Move("a", 0.0, 1.0, (0.0, 0.1), (0.9, 1.0)), Move("b" * 99, 0.5, 0.5, (0, 1), (0, 1))]
    moves.append(Move("no interval", None, 0.7, None, None))
    curves = [[(0.0, 0.8), (0.3, 0.9)], [(0.1, 0.7), (1.0, 0.75)]]
    drawings = [interval_plot(moves, "t"), bar(9, 3, "t"), bar(0, 3, "t"), bar(1, 0, "t")]
    drawings += [frontier_plot(curves, (0.0, 0.8), "t"), frontier_plot([[(0, 1)]], None, "t")]
    drawings += [histogram([[0, 0], [0, 0]], [0.0, 1.0], "t"), histogram([[5, 1]], [], "t")]
    for drawing in drawings:
        shares = [float(x) for x in re.findall(r'"(-?[\d.]+)%"', drawing)]
        assert min(shares) >= 0
        assert max(shares) <= 100


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (0.3, 0.31), (0.999, 1), (1, 1)])
def test_ticks_are_few_and_span_the_rates(low, high):
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 9
    assert marks[0] <= 100 * low
    assert marks[-1] >= 100 * high


def test_names_are_escaped_and_long_ones_shortened():
    moves = [Move("</text><b>" + "x" * 99, 0.1, 0.2, (0.1, 0.2), (0.1, 0.3))]
    root = ElementTree.fromstring(interval_plot(moves, 'a "title" & more'))
    [name] = [text.text for text in root.iter("text") if text.get("class") == "name"]
    assert name.startswith("</text><b>xxx")
    assert len(name) < 40
    assert root.get("aria-label") == 'a "title" & more'


def test_higher_accuracy_is_higher_and_a_larger_gap_further_right():
    root = ElementTree.fromstring(frontier_plot([[(0.0, 0.8), (0.2, 0.9)]], None, "t"))
    low, high = [c for c in root.iter("circle") if c.get("r") == "4"]
    assert float(low.get("cy")) > float(high.get("cy"))
    assert float(low.get("cx")[:-1]) < float(high.get("cx")[:-1])


def test_bars_have_the_shares_of_their_counts():
    root = ElementTree.fromstring(histogram([[3, 0], [1, 1]], [], "t"))
    heights = [float(r.get("height")) for r in root.iter("rect")]
    first_positive, first_negative, second_positive, _ = heights
    assert first_negative == pytest.approx(3 * first_positive, rel=0.01)
    assert first_negative + first_positive == pytest.approx(2 * second_positive, rel=0.01)

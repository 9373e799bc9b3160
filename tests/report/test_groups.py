"""A rule in words says exactly what the rule does."""

from __future__ import annotations

import math

from dpfair.fairness.rules import Rule
from dpfair.report.groups import rule_sentences


def said(accept, cuts):
    [sentence] = rule_sentences(["g"], Rule([accept], [cuts]))
    return sentence.removeprefix("Group g: ")


def test_every_step_is_told_once():
    assert said([0, 1], [0.31]) == "accepted from score 0.31 on."
    assert said([0, 0.6], [0.31]) == "from 0.31 on a coin accepts 60.0%."
    assert said([0.2, 1], [0.31]) == "accepted from score 0.31 on; below 0.31 a coin accepts 20.0%."
    assert said([0, 0.2, 0.9, 1], [0.1, 0.2, 0.3]) == (
        "accepted from score 0.3 on; from 0.2 to 0.3 a coin accepts 90.0%; "
        "from 0.1 to 0.2 a coin accepts 20.0%."
    )


def test_ends_and_padding():
    assert said([0, 1], [-math.inf]) == "everybody is accepted."
    assert said([0, 0.4], [-math.inf]) == "a coin accepts 40.0% of all."
    assert said([0, 0], [math.inf]) == "nobody is accepted."
    assert said([0, 1], [math.inf]) == "nobody is accepted."
    assert said([0, 1, 1, 1], [0.4, math.inf, math.inf]) == "accepted from score 0.4 on."
    assert said([0, 0.3, 1], [-math.inf, 0.7]) == (
        "accepted from score 0.7 on; below 0.7 a coin accepts 30.0%."
    )

"""Categories that look like the steps of a scale."""

import pytest

from dpfair.data.proposal.orders import ordered


@pytest.mark.parametrize(
    "steps",
    [
        ("low", "medium", "high"),
        ("Never", "Sometimes", "Often"),
        ("A", "B", "C", "D", "E", "F", "G"),
        ("A1", "A2", "B1", "C1"),
        ("< 1 year", "1 year", "2 years", "10+ years"),
        ("18-25", "26-35", "36-65", "over 65"),
    ],
)
def test_scales(steps):
    assert ordered(reversed(steps)) == steps


@pytest.mark.parametrize(
    "values", [("low", "high"), ("red", "green", "blue"), ("A", "C", "Z"), ("1", "2", "3"), ()]
)
def test_what_is_no_scale(values):
    assert ordered(values) == ()

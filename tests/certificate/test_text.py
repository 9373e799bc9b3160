"""What a certificate says, sentence by sentence."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from certificate.claims import chosen_claim, flipped_claim, privacy_claim, score_release

import dpfair
from dpfair.certificate.text import meaning, round_down, round_up, sentences
from dpfair.fairness.notions import NOTIONS, Notion, Statistic

DOCS = Path(dpfair.__file__).parents[2] / "docs" / "certificates.md"


def said(start, fairness=None, **privacy):
    """The only sentence that begins in this way, or nothing."""
    fairness = chosen_claim() if fairness is None else fairness
    found = [s for s in sentences(privacy_claim(**privacy), fairness) if s.startswith(start)]
    assert len(found) <= 1
    return found[0] if found else ""


@pytest.mark.parametrize(
    ("epsilon", "odds"),
    [(3, "20.1"), (0.1, "1.11"), (0.001, "1.0011"), (1e-6, "1.0000011"), (800, "1.02e+304")],
)
def test_odds_are_rounded_up_and_never_to_1(epsilon, odds):
    claim = replace(privacy_claim(), epsilon=epsilon)
    assert f"more than {odds} times as likely" in meaning(claim)


@pytest.mark.parametrize("digits", [1, 4])
def test_printed_bounds_promise_no_more_than_the_number(digits):
    for bound in (0.0, 0.01151, 0.84159, 1 / 3, 1.0):
        assert bound <= float(round_up(bound, digits)) <= bound + 10**-digits
        assert bound - 10**-digits <= float(round_down(bound, digits)) <= bound


def test_privacy_is_said_with_its_budget_and_its_leaks():
    assert said("Privacy") == (
        "Privacy: epsilon = 1, delta = 1e-05 for every feature of every record (add/remove; tight "
        "composition, 0.0000 spent). Judged strong: epsilon is at most 1; delta is below 1/n, "
        "n = 6,000 records."
    )
    assert said("NOT PRIVATE") == ""
    assert said("NOT PRIVATE", leaks=["a", "b"]) == "NOT PRIVATE: a; b."
    assert said("Privacy", leaks=["a"]) == ""
    assert said("Account", leaks=["a"]) == ""  # nothing was spent
    assert said("Assumed public") == "Assumed public: the schema."
    assert said("Arithmetic") == "Arithmetic: exact integers."
    leaking = replace(privacy_claim(leaks=["a"]), spent=0.5, relation="replace_one")
    [_, account, *_] = sentences(leaking, chosen_claim())
    assert account == (
        "Account (not a promise): epsilon = 1, delta = 1e-05 for every feature of every record "
        "(replace one; tight composition, 0.5000 spent)."
    )
    nothing = replace(privacy_claim(), assumed_public=())
    assert "Assumed public: nothing." in sentences(nothing, chosen_claim())
    unlimited = replace(privacy_claim(), epsilon=math.inf)
    assert not any(s.startswith("Privacy") for s in sentences(unlimited, chosen_claim()))


@pytest.mark.parametrize(
    ("notion", "promise"),
    [
        ("demographic_parity", "the acceptance rates of any two groups (f, m) differ by at most"),
        ("equal_opportunity", "the true positive rates of any two groups"),
        ("equalized_odds", "the true positive rates or the false positive rates of any two groups"),
        ("accuracy_parity", "the accuracies of any two groups"),
        ("parity_ratio", "the acceptance rates of any two groups (f, m) have a ratio of at least"),
    ],
)
def test_the_promise_names_what_is_compared(notion, promise):
    sentence = said("Fairness", chosen_claim(notion=notion, tolerance=0.1))
    assert sentence.startswith("Fairness: with 95% confidence, ")
    assert promise in sentence
    assert "with a declared group and label, on average over the decisions that" in sentence


def test_many_groups_are_counted_not_listed():
    claim = replace(chosen_claim(), groups=tuple("abcdef"), undeclared={})
    assert "any two groups (6 in all)" in said("Fairness", claim)
    assert "with a declared group, on" in said("Fairness", claim)


def test_the_groups_are_named_with_their_column():
    claim = replace(chosen_claim(), groups=("no", "yes"), column="afam")
    assert "any two groups of afam (no, yes) differ" in said("Fairness", claim)
    assert claim.group_names == ("afam = no", "afam = yes")
    assert replace(claim, column="").group_names == ("no", "yes")


def test_epsilon_has_a_plain_meaning():
    assert "one record more or less makes no result of the fit more than 2.72 times as" in said(
        "In plain words"
    )
    assert "but for a probability of 1e-05" in said("In plain words")
    replaced = replace(privacy_claim(unit="every person (column 'id')"), relation="replace_one")
    assert "to change one person makes" in "".join(sentences(replaced, chosen_claim()))
    assert said("In plain words", leaks=["a"]) == ""


def test_a_constant_model_is_equal_and_decides_nothing():
    claim = replace(chosen_claim(), constant="everybody", gap_bound=0.0)
    assert said("Fairness", claim).startswith(
        "Fairness: the model accepts everybody, so it decides nothing; with 95% confidence"
    )


def test_what_makes_a_model_useless_comes_first():
    shares = {"label": (0.99, (0.97, 1.0))}
    claim = replace(chosen_claim(), undeclared=shares, labels=("bad", "good"))
    first, *_ = sentences(privacy_claim(), claim)
    assert first.startswith("OF NO USE: nearly all labels are none of bad, good (an estimated 0.99")
    assert "dpfair check" in first
    groups = replace(claim, undeclared={"group": (0.99, (0.97, 1.0))}, column="sex")
    assert "nearly all groups of sex are none of f, m" in said("OF NO USE", groups)


def test_what_is_not_certified_has_a_reason_and_an_estimate():
    claim = chosen_claim(score_release(dependence="the rule saw them"))
    assert said("Fairness", claim) == "Fairness: NOT CERTIFIED, because the rule saw them."
    assert "in demographic parity on the counts" in said("Estimate", claim)
    assert "usually larger" in said("Estimate", claim)
    assert "usually larger" not in said("Estimate", replace(claim, constant="nobody"))
    assert "without a promise" in said("Accuracy", claim)


def test_undeclared_and_irregular_records():
    claim = replace(chosen_claim(), undeclared={"label": (0.001, (0.0, 0.00211))})
    assert said("Undeclared", claim) == (
        "Undeclared: at most 0.0022 of the records have no declared label. "
        "The bound on the gap is about the others."
    )
    many = replace(claim, undeclared={"label": (0.3, (0.25, 0.35))}, irregular=(0.1, None))
    assert "0.3000 of the records (at most 0.3500) have a label that" in said("WARNING", many)
    assert "an estimated 0.1000 of the records have a feature value" in said("Irregular", many)
    alone = replace(claim, groups=("all",), undeclared={"group": (0.3, (0.25, 0.35))})
    assert said("WARNING", alone) == said("Undeclared", alone) == ""


def test_flips_are_said_with_their_changes():
    claim = flipped_claim()
    low, high = claim.changes
    assert f"Utility: {low:.4f} to {high:.4f} of decisions changed" in said("Utility", claim)
    assert said("Accuracy", claim).startswith("Accuracy: not known")
    assert said("Tolerance", claim) == ""  # the rule has none
    assert said("Utility", replace(claim, certified=False)) == ""


def test_every_notion_is_documented():
    text = DOCS.read_text()
    for notion in NOTIONS.values():
        [row] = [line for line in text.splitlines() if line.startswith(f"| `{notion.name}` |")]
        assert all(statistic.plural in row for statistic in notion.statistics)
        assert ("ratio of" in row) == notion.ratio


def test_a_new_notion_is_one_row(monkeypatch):
    """Rules, bounds, judgements and sentences read the table."""
    rejected = Statistic("false positive rate", (0,))
    monkeypatch.setitem(NOTIONS, "equal_risk", Notion("equal_risk", "equal risk", (rejected,)))
    claim = chosen_claim(notion="equal_risk", tolerance=0.1)
    assert claim.gap_judgement is not None
    assert "the false positive rates of any two groups" in said("Fairness", claim)

"""Who is counted where and at what cost; no scope is ever charged more than epsilon."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpfair.errors import BudgetError, InputError
from dpfair.fairness.release import table_events
from dpfair.methods.division import (
    DECISIONS_PART,
    Division,
    certified_share,
    corrects,
    counting_epsilon,
    divide,
    divide_algorithm2,
)
from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.ledger import Ledger

EPSILONS = [Fraction("0.01"), Fraction("0.3"), Fraction(1), Fraction(3), Fraction(10)]
RELATIONS = ("add_remove", "replace_one")


def divided(epsilon=Fraction(1), **changes) -> Division:
    options = {
        "mode": "certified",
        "certifies": "placed",
        "release_epsilon": None,
        "release_share": None,
        "check_share": 0.0,
    }
    return divide(epsilon, **(options | changes))


def tables_of(division: Division, scope: str, groups: int, relation: str) -> list:
    """All tables that are charged to a scope, besides training."""
    events = []
    if division.train_scope == scope:
        events += division.events_with_training(groups, relation)
    elif division.release_scope == scope:
        for epsilon in (division.decision_epsilon, division.release_epsilon):
            if epsilon is not None:
                events += table_events(epsilon, groups, relation, public_sizes=False)
    if division.check_scope == scope:
        events += table_events(division.epsilon, groups, relation, public_sizes=False)
    return events


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"certifies": "band"},
        {"certifies": "corrected"},
        {"certifies": "corrected", "by_label": True},
        {"by_label": True},
        {"release_epsilon": Fraction("0.005")},
        {"certifies": "corrected", "release_epsilon": Fraction("0.005")},
        {"mode": "reuse", "certifies": "band"},
        {"mode": "reuse", "certifies": "band", "by_label": True},
        {"mode": "reuse", "certifies": "band", "check_share": 0.2},
    ],
    ids=str,
)
def test_tables_leave_room_for_training_and_never_exceed_epsilon(options, epsilon, relation):
    division = divided(epsilon, **options)
    assert division.epsilon == division.training_epsilon == epsilon
    for scope in division.shares:
        cost = sum(pure_epsilon(e) for e in tables_of(division, scope, 3, relation))
        assert cost <= epsilon
        if scope == division.train_scope:
            assert cost < epsilon
        ledger = Ledger(float(epsilon), 1e-5, relation=relation)
        for event in tables_of(division, scope, 3, relation):
            ledger.charge(event, scope=scope, purpose="count")
        assert ledger.spent <= epsilon


def test_certified_uses_disjoint_records():
    division = divided(Fraction(3))
    assert division.shares == {"train": 1 / 2, "release": 1 / 2}
    assert divided(Fraction(1, 2)).share("release") == certified_share(0.5) == 0.3
    assert (division.train_scope, division.release_scope) == ("train", "release")
    assert division.check_scope is None
    assert division.release_epsilon == 3  # a scope of its own: all of it
    assert division.plan_epsilon == Fraction(3, 10)
    assert len(division.events_with_training(2, "add_remove")) == 1
    assert divided(release_share=0.25).shares == {"train": 0.75, "release": 0.25}
    assert divided(release_epsilon=Fraction(1, 2)).release_epsilon == Fraction(1, 2)
    assert division.decision_epsilon is None


@pytest.mark.parametrize(("given", "spent"), [(None, 3), (Fraction(1, 2), Fraction(1, 2))])
def test_a_correction_divides_the_release_between_decisions_and_scores(given, spent):
    division = divided(Fraction(3), certifies="corrected", release_epsilon=given)
    assert division.decision_epsilon == DECISIONS_PART * spent
    assert division.decision_epsilon + division.release_epsilon == spent
    assert division.decision_epsilon > division.release_epsilon > 0
    assert division.plan_epsilon == Fraction(3, 10)  # there is a rule to be corrected
    assert division.shares == divided(Fraction(3)).shares


@pytest.mark.parametrize(
    ("epsilon", "rows", "corrected"),
    [
        (3, 45_000, False),
        (1, 45_000, True),
        (0.3, 10**6, True),
        (3, 6_000, True),  # few records: the noise of many cells would not vanish among them
        (10, 6_000, False),
        (3, None, False),
        (1, None, True),
    ],
)
def test_small_budgets_and_small_tables_are_corrected(epsilon, rows, corrected):
    assert corrects(epsilon, rows) == corrected


def test_only_rules_for_several_groups_are_planned():
    division = divided(certifies="band")
    assert division.plan_epsilon is None
    assert division.events_with_training(2, "add_remove") == []


def test_reuse_counts_everybody():
    division = divided(Fraction(3), mode="reuse", certifies="band")
    assert division.shares == {"": 1.0}
    assert division.train_scope == division.release_scope == ""
    assert division.share("") == 1
    assert division.release_epsilon == Fraction(3, 10)
    [event] = division.events_with_training(2, "add_remove")
    assert float(pure_epsilon(event)) == pytest.approx(0.3)


def test_a_check_has_records_of_its_own():
    division = divided(mode="reuse", certifies="band", check_share=0.25)
    assert division.shares == {"fit": 0.75, "check": 0.25}
    assert division.train_scope == division.release_scope == "fit"
    assert division.check_scope == "check"
    assert division.share("check") == 0.25


@pytest.mark.parametrize(
    ("epsilon", "by_label", "expected"),
    [
        ("9", False, "0.9"),
        ("3", False, "0.3"),
        ("1", False, "0.2"),
        ("0.1", False, "0.035"),  # never more than 35 %
        ("3", True, "0.6"),
        ("1", True, "0.35"),
    ],
)
def test_what_counting_costs(epsilon, by_label, expected):
    assert counting_epsilon(Fraction(epsilon), by_label=by_label) == Fraction(expected)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"release_epsilon": Fraction(2)}, BudgetError, "over the budget"),
        ({"mode": "reuse", "release_epsilon": Fraction(2)}, BudgetError, "over the budget"),
        ({"mode": "reuse", "release_epsilon": Fraction(1)}, InputError, "left of epsilon"),
        ({"check_share": 0.1}, InputError, "check_share belongs to mode='reuse'"),
        ({"mode": "reuse", "release_share": 0.5}, InputError, "release_share belongs"),
        ({"mode": "reuse", "check_share": 1.0}, InputError, "check_share in"),
        ({"mode": "reuse", "check_share": -0.1}, InputError, "check_share in"),
        ({"release_share": 0.0}, InputError, "release_share"),
        ({"release_share": 1.0}, InputError, "release_share"),
        ({"release_share": float("nan")}, InputError, "release_share"),
        ({"release_epsilon": Fraction(1, 10**5)}, InputError, "at least epsilon"),
        (
            {"certifies": "corrected", "release_epsilon": Fraction(2, 10**4)},
            InputError,
            "at least epsilon",
        ),
        ({"mode": "reuse", "release_epsilon": Fraction(1, 10**5)}, InputError, "at least epsilon"),
    ],
)
def test_impossible_divisions_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        divided(**changes)


def algorithm2(epsilon=Fraction(3), **changes) -> Division:
    options = {"composition": "tight", "release_epsilon": None, "release_share": None, "tables": 1}
    return divide_algorithm2(epsilon, **(options | changes))


@pytest.mark.parametrize("tables", [1, 2, 5])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_papers_charges_add_up_to_epsilon(epsilon, tables):
    basic = algorithm2(epsilon, composition="basic", tables=tables)
    assert basic.training_epsilon + tables * basic.release_epsilon == epsilon
    tight = algorithm2(epsilon, tables=tables)
    assert tables * tight.release_epsilon == tight.training_epsilon == epsilon


def test_the_papers_numbers():
    """Epsilon 3: 2.9 for training and 0.05 for each group."""
    division = algorithm2(composition="basic", tables=2)
    assert division.release_epsilon == Fraction(1, 20)
    assert division.training_epsilon == Fraction(29, 10)
    assert division.shares == {"train": pytest.approx(2 / 3), "release": pytest.approx(1 / 3)}
    assert division.plan_epsilon is None
    assert division.events_with_training(2, "add_remove") == []
    given = algorithm2(
        composition="basic", tables=2, release_epsilon=Fraction(1), release_share=0.5
    )
    assert given.training_epsilon == 1
    assert given.share("release") == 0.5


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"release_epsilon": Fraction(4)}, BudgetError, "over the budget"),
        ({"release_epsilon": Fraction(2), "tables": 2}, BudgetError, "would cost 4"),
        ({"composition": "basic", "release_epsilon": Fraction(3)}, InputError, "training_epsilon"),
        (
            {"composition": "basic", "release_epsilon": Fraction(2), "tables": 2},
            InputError,
            "train",
        ),
        ({"release_epsilon": Fraction(1, 10**5)}, InputError, "at least epsilon"),
        ({"release_share": 1.5}, InputError, "release_share"),
    ],
)
def test_impossible_divisions_of_the_papers_rule_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        algorithm2(**changes)

"""Who is counted where and at what cost; no scope is ever charged more than epsilon."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpfair.errors import BudgetError, InputError
from dpfair.fairness.counting import table_events
from dpfair.fairness.notions import notion_of
from dpfair.methods.division import (
    DECISIONS_PART,
    Allotment,
    certified_share,
    certifies,
    corrects,
    counting_epsilon,
    divide,
)
from dpfair.methods.settings import Division
from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.plan import Budget

EPSILONS = [Fraction("0.01"), Fraction("0.3"), Fraction(1), Fraction(3), Fraction(10)]
RELATIONS = ("add_remove", "replace_one")

# Public numbers with which a certified rule is found in one way, whatever epsilon is.
BAND = {"groups": 1}
CORRECTED = {"rows": 10**7}
# And those with which thresholds are placed, if epsilon is not too small for that.
PLACED = {"rows": 150_000}
BY_LABEL = {"notion": notion_of("equalized_odds")}
OPPORTUNITY = {"notion": notion_of("equal_opportunity")}


def divided(
    epsilon=Fraction(1),
    mode="certified",
    notion=notion_of("demographic_parity"),
    groups=2,
    rows=150_000,
    relation="add_remove",
    rows_per_unit=1,
    **settings,
) -> Allotment:
    budget = Budget(epsilon, 1e-5, relation, rows_per_unit=rows_per_unit)
    return divide(budget, Division(**settings), mode=mode, notion=notion, groups=groups, rows=rows)


def tables_of(parts: Allotment, scope: str, relation: str) -> list:
    """All tables that are charged to a scope, besides training."""
    found = [
        (parts.train_scope, parts.plan_epsilon),
        (parts.release_scope, parts.decision_epsilon),
        (parts.release_scope, parts.release_epsilon),
        (parts.release_scope, parts.values_epsilon),
        ("check", parts.check_epsilon),
    ]
    return [
        event
        for where, epsilon in found
        if where == scope and epsilon is not None
        for event in table_events(epsilon, 3, relation, public_sizes=False)
    ]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "options",
    [
        PLACED,
        BAND,
        CORRECTED,
        CORRECTED | BY_LABEL,
        PLACED | OPPORTUNITY,
        PLACED | {"release_epsilon": 0.005},
        CORRECTED | {"release_epsilon": 0.005},
        CORRECTED | {"values_epsilon": 0.001},
        {"mode": "reuse"},
        {"mode": "reuse"} | BY_LABEL,
        {"mode": "reuse", "check_share": 0.2},
        {"mode": "reuse", "values_epsilon": 0.001},
    ],
    ids=str,
)
def test_tables_leave_room_for_training_and_never_exceed_epsilon(options, epsilon, relation):
    parts = divided(epsilon, relation=relation, **options)
    for scope in parts.shares:
        events = tables_of(parts, scope, relation)
        cost = sum(pure_epsilon(event) for event in events)
        assert cost <= epsilon
        if scope == parts.train_scope:
            assert cost < epsilon
        ledger = Ledger(epsilon, 1e-5, relation=relation)  # refuses more than epsilon
        for event in events:
            ledger.charge(event, scope=scope, purpose="count")
        assert ledger.spent <= float(epsilon)


def test_certified_uses_disjoint_records():
    parts = divided(Fraction(3))
    assert parts.shares == {"train": 1 / 2, "release": 1 / 2}
    assert divided(Fraction(1, 2)).shares["release"] == certified_share(0.5) == 0.3
    assert (parts.train_scope, parts.release_scope) == ("train", "release")
    assert parts.check_epsilon is None
    assert parts.release_epsilon == 3  # a scope of its own: all of it
    assert parts.plan_epsilon == Fraction(3, 10)
    assert len(tables_of(parts, "train", "add_remove")) == 1
    assert divided(release_share=0.25).shares == {"train": 0.75, "release": 0.25}
    assert divided(release_epsilon=0.5).decision_epsilon is not None
    assert divided(Fraction(3), release_epsilon=2.5).release_epsilon == Fraction(5, 2)
    assert parts.decision_epsilon is None


def test_counting_unusual_values_is_paid_beside_the_release():
    parts = divided(Fraction(3), values_epsilon=0.5)
    assert (parts.values_epsilon, parts.release_epsilon) == (Fraction(1, 2), Fraction(5, 2))
    assert divided(Fraction(3)).values_epsilon is None


@pytest.mark.parametrize(("given", "spent"), [(None, 3), (0.5, Fraction(1, 2))])
def test_a_correction_divides_the_release_between_decisions_and_scores(given, spent):
    parts = divided(Fraction(3), **CORRECTED, release_epsilon=given)
    assert parts.decision_epsilon == DECISIONS_PART * spent
    assert parts.decision_epsilon + parts.release_epsilon == spent
    assert parts.decision_epsilon > parts.release_epsilon > 0
    assert parts.plan_epsilon == Fraction(3, 10)  # there is a rule to be corrected
    assert parts.shares == divided(Fraction(3)).shares


@pytest.mark.parametrize(
    ("notion", "groups", "epsilon", "relation", "how"),
    [
        ("demographic_parity", 1, 3, "add_remove", "band"),
        ("demographic_parity", 2, 3, "add_remove", "placed"),
        ("equal_opportunity", 2, 3, "add_remove", "placed"),
        ("equalized_odds", 2, 3, "add_remove", "corrected"),  # two rates, one threshold
        ("demographic_parity", 2, 1, "add_remove", "corrected"),
        ("demographic_parity", 2, 3, "replace_one", "corrected"),  # twice the noise
        ("demographic_parity", 21, 3, "add_remove", "corrected"),
    ],
)
def test_how_a_certified_rule_is_found(notion, groups, epsilon, relation, how):
    found = certifies(
        notion_of(notion), Fraction(epsilon), relation=relation, groups=groups, rows=30_000
    )
    assert found == how


@pytest.mark.parametrize(
    ("epsilon", "rows", "corrected"),
    [
        (3, 45_000, False),
        (1, 45_000, True),
        (0.3, 10**6, True),
        (3, 6_000, True),  # few records: the noise of many cells would not vanish among them
        (10, 6_000, False),
        (1, None, True),
        (3, None, True),  # a wrong guess of the size costs more than the better choice gains
        (20, None, True),
    ],
)
def test_small_budgets_and_small_tables_are_corrected(epsilon, rows, corrected):
    assert corrects(epsilon, rows) == corrected


def test_only_rules_for_several_groups_are_planned():
    parts = divided(**BAND)
    assert parts.plan_epsilon is None
    assert tables_of(parts, "train", "add_remove") == []


def test_reuse_counts_everybody():
    parts = divided(Fraction(3), mode="reuse")
    assert parts.shares == {"": 1.0}
    assert parts.train_scope == parts.release_scope == ""
    assert parts.release_epsilon == Fraction(3, 10)
    [event] = tables_of(parts, "", "add_remove")
    assert float(pure_epsilon(event)) == pytest.approx(0.3)


def test_a_check_has_records_and_a_budget_of_its_own():
    parts = divided(mode="reuse", check_share=0.25)
    assert parts.shares == {"fit": 0.75, "check": 0.25}
    assert parts.train_scope == parts.release_scope == "fit"
    assert parts.check_epsilon == 1


@pytest.mark.parametrize("mode", ["certified", "reuse"])
def test_what_a_person_pays_is_divided_among_the_records(mode):
    one = divided(Fraction(1), mode=mode, **CORRECTED, values_epsilon=0.125)
    three = divided(Fraction(3), mode=mode, **CORRECTED, rows_per_unit=3, values_epsilon=0.375)
    assert one == three


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
        ({"release_epsilon": 2}, BudgetError, "over the budget"),
        ({"release_epsilon": 0.7, "values_epsilon": 0.4}, BudgetError, "over the budget"),
        ({"mode": "reuse", "release_epsilon": 2}, BudgetError, "over the budget"),
        ({"mode": "reuse", "release_epsilon": 1}, InputError, "left of epsilon"),
        ({"mode": "reuse", "values_epsilon": 0.9}, InputError, "left of epsilon"),
        ({"check_share": 0.1}, InputError, "check_share belongs to mode='reuse'"),
        ({"mode": "reuse", "release_share": 0.5}, InputError, "release_share belongs"),
        ({"mode": "reuse", "check_share": 1.0}, InputError, "check_share in"),
        ({"mode": "reuse", "check_share": -0.1}, InputError, "check_share in"),
        ({"release_share": 0.0}, InputError, "release_share"),
        ({"release_share": 1.0}, InputError, "release_share"),
        ({"release_share": float("nan")}, InputError, "release_share"),
        ({"release_epsilon": 1e-5}, InputError, "at least epsilon"),
        (CORRECTED | {"release_epsilon": 2e-4}, InputError, "at least epsilon"),
        ({"mode": "reuse", "release_epsilon": 1e-5}, InputError, "at least epsilon"),
    ],
)
def test_impossible_divisions_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        divided(**changes)

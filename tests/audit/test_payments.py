"""What was asked was paid for, and one record is exposed to one path only."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpfair.audit.observe import Run
from dpfair.audit.payments import check_exposure, check_payments
from dpfair.audit.tape import Heard
from dpfair.certificate import Certificate, FairnessClaim, PrivacyClaim
from dpfair.errors import InputError
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.draw import Question
from dpfair.privacy.events import best_of_runs, gaussian_steps, noisy_table, step_event
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.plan import Budget, FitPlan, Step

COUNT, OTHER = noisy_table(1, "add_remove"), noisy_table(2, "add_remove")
STEP = step_event(2.0, 1.0)


class Model:
    """Anything with a ledger, a plan and a certificate."""

    def __init__(self, ledger=None, plan=None, planned=None, certificate=None):
        if ledger is not None:
            self.ledger_ = ledger
        if plan is not None:
            self.plan_ = plan
        if planned is not None:
            self.plan = lambda schema, facts: planned
        if certificate is not None:
            self.certificate_ = certificate


def ledger(*charges):
    paid = Ledger(100, 1e-5)
    for scope, event in charges:
        paid.charge(event, scope=scope, purpose="test")
    return paid


def count(scope="", event=COUNT, source=0):
    return Heard(source, Question("counts", np.zeros(1), event, scope), [0])


def gaussian(scope="", multiplier=2.0, source=0):
    question = Question("gaussian", np.zeros(1), STEP, scope, noise_multiplier=multiplier)
    return Heard(source, question, np.zeros(1))


def assumed(fact):
    return Heard(0, Question("assumed", np.zeros(1), assumption=fact), np.zeros(1))


def payments(heard, **model):
    run = Run(Model(**model), tuple(heard), (), False, {"the error": ""}, {})
    return list(check_payments(run, run.model))


def test_what_was_paid_and_asked_is_fine():
    paid = ledger(("a", gaussian_steps(2.0, 1.0, 2)), ("b", COUNT))
    assert payments([gaussian("a"), count("b"), gaussian("a")], ledger=paid) == []


@pytest.mark.parametrize(
    "heard",
    [
        [count("a"), count("a")],
        [count("a"), count("b")],
        [count("a"), count("a", OTHER)],
        [count("a"), gaussian("a")],
    ],
    ids=["twice", "another scope", "another event", "another noise"],
)
def test_more_than_was_paid_is_found(heard):
    [sentence] = payments(heard, ledger=ledger(("a", COUNT)))
    assert "were used" in sentence
    assert "only" not in sentence


def test_less_than_was_paid_is_found():
    paid = ledger(("a", gaussian_steps(2.0, 1.0, 3)))
    [sentence] = payments([gaussian("a"), gaussian("a")], ledger=paid)
    assert "paid for 3 draws" in sentence
    assert "only 2 were used" in sentence


def test_queries_that_share_a_draw_add_up_to_it():
    part = 2.0 * np.sqrt(2)
    paid = ledger(("", gaussian_steps(2.0, 1.0, 1)))
    assert payments([gaussian(multiplier=part), gaussian(multiplier=part)], ledger=paid) == []
    assert payments([gaussian(multiplier=part), gaussian(multiplier=2.0)], ledger=paid)


def test_answers_without_a_ledger_are_found():
    assert payments([count()]) == ["1 noisy answers were given out, but there is no ledger."]
    assert payments([]) == []


def plan(scope="", purpose="test", event=COUNT, share=1.0):
    shares = {"": 1.0, "a": share}
    return FitPlan(Budget(Fraction(3), 1e-5), (Step("count", scope, purpose, event),), shares)


WRONG = [plan("a"), plan(purpose="other"), plan(event=OTHER)]


def test_a_plan_that_is_kept_is_fine():
    assert payments([count()], ledger=ledger(("", COUNT)), plan=plan(), planned=plan()) == []


@pytest.mark.parametrize("wrong", WRONG, ids=["scope", "purpose", "event"])
def test_charges_that_were_not_planned_are_found(wrong):
    found = payments([count()], ledger=ledger(("", COUNT)), planned=wrong)
    assert found == ["The charges are not the planned ones."]


@pytest.mark.parametrize(
    "wrong", [*WRONG, plan(share=0.5)], ids=["scope", "purpose", "event", "share"]
)
def test_a_plan_that_does_not_follow_from_the_settings_is_found(wrong):
    found = payments([count()], ledger=ledger(("", COUNT)), plan=wrong, planned=plan())
    assert found == ["The plan of the fit is not the one that its settings lead to."]


def test_a_fit_that_cannot_be_planned_is_found():
    class Unplanned(Model):
        def plan(self, schema, facts):
            raise InputError("unknown before")

    run = Run(Unplanned(ledger(("", COUNT))), (count(),), (), False, {"the error": ""}, {})
    assert list(check_payments(run, run.model)) == ["The fit had no plan: unknown before"]


def test_a_plan_may_depend_on_what_is_assumed_public():
    """The audit plans again with the facts of the ledger, which the certificate lists."""

    class Sized(Model):
        def plan(self, schema, facts):
            return plan(event=noisy_table(int(facts[Assumption()][0]), "add_remove"))

    for size, violations in ((1, 0), (2, 1)):
        paid = ledger(("", COUNT))
        paid.assume(Assumption(), np.array([size]))
        run = Run(Sized(paid), (count(),), (), False, {"the error": ""}, {})
        assert len(list(check_payments(run, run.model))) == violations


def certificate(*public):
    privacy = PrivacyClaim.from_ledger(
        Ledger(1, 1e-5), unit="", arithmetic="", assumed_public=public, leaks=()
    )
    return Certificate("test", privacy, FairnessClaim.nothing(("f", "m"), "nothing"))


def test_assumptions_stand_in_the_certificate():
    fact = Assumption(("group",), "release")
    assert payments([assumed(fact)], certificate=certificate("the schema", fact.text)) == []
    for other in (None, certificate("the schema"), certificate(f"{fact.text} and more")):
        [sentence] = payments([assumed(fact)], certificate=other)
        assert "'the number of records of each group in the release scope' is public" in sentence


def exposure(paid, heard, moved):
    return list(check_exposure(paid, heard, frozenset(moved)))


def test_one_path_of_scopes_is_fine():
    heard = [count(""), count("a"), count("a/b"), count("c")]
    for moved in ([], [0], [3], [0, 1, 2], [0, 3]):
        assert exposure(None, heard, moved) == []


@pytest.mark.parametrize("moved", [[1, 3], [2, 3], [0, 2, 3]])
def test_disjoint_scopes_share_no_record(moved):
    heard = [count(""), count("a"), count("a/b"), count("c")]
    assert len(exposure(None, heard, moved)) >= 1


def test_a_scope_is_no_part_of_another_that_begins_alike():
    assert exposure(None, [count("a"), count("ab")], [0, 1])


SEARCH = [("", best_of_runs([COUNT, gaussian_steps(2.0, 1.0, 2)], 2.0, 0.0))]


def a_run(source):
    """A run of a search: two steps on one part of the records, a score on the other."""
    return [gaussian("", source=source), gaussian("", source=source), count("validate")]


def test_runs_of_a_search_may_cost_what_an_alternative_costs():
    paid = ledger(*SEARCH)
    heard = [*a_run(1), *a_run(2), *a_run(3)]
    assert payments(heard, ledger=paid) == []
    assert exposure(paid, heard, [0, 1, 3, 4, 6, 7]) == []  # a record that trains
    assert exposure(paid, heard, [2, 5, 8]) == []  # one that validates
    assert exposure(paid, heard, [0, 1, 5]) == []  # coins may differ between runs


def test_a_record_is_not_both_fitted_and_scored_on():
    assert exposure(ledger(*SEARCH), [*a_run(1), *a_run(2)], [0, 1, 2])


def test_a_run_that_takes_another_step_is_found():
    heard = [gaussian("", source=1), *a_run(1), *a_run(2)]
    assert payments(heard, ledger=ledger(*SEARCH)) == [
        "Run 1 of the search asked for more than any alternative pays for."
    ]


def test_a_run_that_scores_twice_is_found():
    heard = [*a_run(1), *a_run(2), count("validate")]
    assert payments(heard, ledger=ledger(*SEARCH)) == [
        "Run 2 of the search asked for more than any alternative pays for."
    ]


def test_a_fit_with_disjoint_scopes_may_use_an_alternative_in_each():
    paid = ledger(*SEARCH)
    run = [gaussian("train", source=1), gaussian("train", source=1), count("release", source=1)]
    assert payments([*run, count("validate")], ledger=paid) == []
    run[2] = count("train", source=1)
    assert payments([*run, count("validate")], ledger=paid)

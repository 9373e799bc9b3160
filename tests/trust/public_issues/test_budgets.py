"""Bugs of budgets, and of what is paid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.dp_event import ComposedDpEvent, LaplaceDpEvent
from trust.public_issues.asking import asked, fair, loans, one_step

from dpfair import BudgetError, InputError, Ledger, LogisticLearner
from dpfair.audit.tape import Session
from dpfair.errors import ReceiptError
from dpfair.methods.algorithm2 import Algorithm2
from dpfair.privacy.events import gaussian_steps, noisy_table, step_event
from dpfair.privacy.noise import noise_from


def test_opendp_2789_float_budget_drift():
    """Sums of floats drifted: 0.024499999999999997 did not fit into 0.024499999999999987."""
    parts, cost = 49, Fraction(1, 2000)
    ledger = Ledger(parts * cost, 1e-5)
    for i in range(parts):
        ledger.charge(noisy_table(cost, "add_remove"), scope="", purpose=f"part {i}")
    assert Fraction(ledger.spent) <= parts * cost
    with pytest.raises(BudgetError):
        ledger.charge(noisy_table(cost / 100, "add_remove"), scope="", purpose="one more")


def test_opendp_2131_tenths_that_exceed_one():
    """0.1 + 0.9 was more than the budget of 1.0, which could not be spent to the end."""
    ledger = Ledger("1.0", 1e-5)
    for amount in ("0.1", "0.9"):
        ledger.charge(noisy_table(amount, "add_remove"), scope="", purpose=amount)
    assert ledger.spent == pytest.approx(1.0, abs=1e-15)


def test_smartnoise_sdk_424_the_last_step_is_not_paid_for():
    """The budget was checked after a step had run, so the last step was free."""
    too_little = LogisticLearner(steps=3, noise_multiplier=0.5)
    session = Session(0)
    with noise_from(session), pytest.raises(BudgetError, match="nothing was charged"):
        fair(learner=too_little).fit(*loans())
    assert session.heard == []
    ledger = Ledger(1, 1e-5)
    receipt = ledger.charge(gaussian_steps(8.0, 1.0, 3), scope="", purpose="three steps")
    for _ in range(3):
        receipt.draw(step_event(8.0, 1.0))
    with pytest.raises(ReceiptError, match="Nothing is left"):
        receipt.draw(step_event(8.0, 1.0))


def test_opendp_1908_no_cost_but_an_answer():
    """The privacy map failed, and the measurement could be run on the data all the same."""
    unknown = [LaplaceDpEvent(1.0), ComposedDpEvent([]), step_event(1e-9, 1.0)]
    for event in unknown:
        ledger = Ledger(100, 1e-5)
        with pytest.raises(InputError):
            ledger.charge(event, scope="", purpose="p")
        assert ledger.entries == ()
    session = Session(0)
    with noise_from(session), pytest.raises(InputError):
        one_step(noise_multiplier=1e-3).fit(*loans())
    assert session.heard == []


def test_diffprivlib_104_two_releases_share_one_budget():
    """X and y were centred with noise for one slice of the budget, which was charged once."""
    event = noisy_table("0.5", "add_remove")
    receipt = Ledger(1, 1e-5).charge(event, scope="", purpose="X")
    receipt.draw(event).discrete_laplace([1, 2])
    with pytest.raises(ReceiptError):
        receipt.draw(event)
    for settings in ({}, {"mode": "reuse"}, {"method": Algorithm2, "public_sizes": True}):
        model = fair(**settings)
        planned = model.plan().charges
        heard = asked(model, *loans(300))
        assert [(e.scope, e.event) for e in model.ledger_.entries] == planned
        tables = [h for h in heard if h.question.kind == "counts"]
        assert len(tables) == sum(
            event.__class__.__name__ == "DiscreteLaplaceDpEvent" for _, event in planned
        )


def test_privcount_360_noise_is_weighed_and_never_added():
    """The weight of the noise was looked up, and the counters went out without it."""
    X, y = loans()
    tables = []
    for seed in range(6):
        for heard in asked(fair(0.5, mode="reuse"), X, y, seed=seed):
            exact, noisy = np.ravel(heard.question.value), np.ravel(heard.answer)
            assert (noisy != exact).mean() > 0.5
            tables.append(noisy.tobytes())
    assert len(set(tables)) == len(tables)

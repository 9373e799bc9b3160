"""The account composes costs as the ledger does."""

from __future__ import annotations

from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import gaussian_steps, noisy_table
from dpfair.privacy.ledger import Entry
from dpfair.report.account import scope_costs


def test_mixed_costs_on_one_scope_are_composed_not_added():
    steps, counts = gaussian_steps(5.0, 1.0, 1), noisy_table(1, "add_remove")
    own = epsilon_of(steps, 1e-5, "add_remove")
    entries = [Entry("a", "train", steps, own, 1e-5), Entry("a", "count", counts, 1.0, 0.0)]
    assert 1.0 < scope_costs(entries, "add_remove", tight=True)["a"] < own + 1.0
    assert scope_costs(entries, "add_remove", tight=False)["a"] == own + 1.0

"""The learner of blocks: what it costs, what it finds, and what it falls back to."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from learners.recording import Recording
from record_arrays import codes_in

from dpfair import (
    BlockLearner,
    InputError,
    LogisticLearner,
    PrivateFairClassifier,
    Schema,
    load_model,
    save_model,
)
from dpfair.data.records import Records
from dpfair.learners.block_scorer import BlockScorer
from dpfair.learners.protocols import TrainingBudget
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import compose, has_floating_noise, noisy_table, parts
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise, noise_from


def words(columns, rows=None):
    """A schema of columns of three words each."""
    return Schema.from_dict(
        {
            "label": {"name": "y", "values": [0, 1]},
            **({} if rows is None else {"rows": rows}),
            "columns": [
                {"name": f"x{i}", "kind": "categorical", "values": ["0", "1", "2"]}
                for i in range(columns)
            ],
        }
    )


def drawn(columns, rule, rows=20_000, seed=0):
    """Random words, whose label follows a rule for nine records out of ten."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(rows, columns))
    labels = np.where(rng.random(rows) < 0.9, rule(codes), rng.integers(0, 2, rows))
    return Records.of_arrays(
        np.zeros((rows, 0)), codes.astype(np.int32), np.zeros(rows, int), labels.astype(int)
    )


def trained(learner, schema, records, epsilon=1.0, seed=0):
    plan = learner.plan(schema, TrainingBudget(epsilon, 1e-5, "add_remove"))
    ledger = Ledger(epsilon, 1e-5, noise=Noise(seed))
    receipt = ledger.charge(plan.event, scope="", purpose="train")
    scorer = learner.train(plan, records, schema, receipt)
    assert receipt.used_up
    return scorer


def accuracy(scorer, records):
    return np.mean((scorer.scores(records) > 0.5) == records.labels)


def test_plan_costs_the_budget_beside_other_events(loan_schema):
    table = noisy_table("0.3", "add_remove")
    plan = BlockLearner().plan(  # of 3000 declared records
        loan_schema, TrainingBudget(3, 1e-5, "add_remove", other_events=(table,))
    )
    assert 2.99 < epsilon_of(compose([plan.event, table]), 1e-5, "add_remove") <= 3
    assert not has_floating_noise(plan.event)
    counts = {leaf.noise_multiplier: n for leaf, n in parts(plan.event).items()}
    total = sum(n / m**2 for m, n in counts.items())
    shares = [
        (plan.first.descent.noise_multiplier, 50, 0.2),
        (plan.mass_multiplier, 1, 0.02),
        (plan.screen_multiplier, 6, 0.15),
        (plan.multiplier, 100, 0.63),
    ]
    for multiplier, draws, share in shares:
        assert counts[multiplier] == draws
        assert draws / multiplier**2 / total == pytest.approx(share)


def test_a_plan_needs_the_number_of_columns_only():
    """Bins may become known between the plan and the training."""
    budget = TrainingBudget(1.0, 1e-5, "add_remove")

    def table(edges):
        columns = [
            {"name": f"x{i}", "kind": "numeric", "bounds": [0, 9], "edges": edges} for i in range(3)
        ]
        return Schema.from_dict({"label": {"name": "y", "values": [0, 1]}, "columns": columns})

    plans = [BlockLearner().plan(table(edges), budget) for edges in ([], [1, 2, 3, 4, 5, 6, 7])]
    assert plans[0] == plans[1]
    rng = np.random.default_rng(0)
    records = Records.of_arrays(
        rng.uniform(0, 9, size=(3000, 3)),
        np.zeros((3000, 0), np.int32),
        np.zeros(3000, int),
        rng.integers(0, 2, 3000),
    )
    receipt = Ledger(1, 1e-5, noise=Noise(0)).charge(plans[0].event, scope="", purpose="train")
    learner = BlockLearner(evidence=None)
    scorer = learner.train(plans[0], records, table([1, 2, 3, 4, 5, 6, 7]), receipt)
    assert receipt.used_up
    assert min(scorer.grouping.shape((0, 1))) > 4


@pytest.mark.parametrize(
    ("rows", "epsilon", "share", "evidence", "pairs"),
    [
        (None, 1.0, 1.0, 3.0, 15),
        (2499, 1.0, 1.0, 3.0, 0),
        (2500, 1.0, 1.0, 3.0, 15),
        (2500, 1.0, 0.9, 3.0, 0),
        (900, 3.0, 1.0, 3.0, 15),
        (100, 1.0, 1.0, None, 15),
    ],
)
def test_pairs_of_a_table_that_is_declared_small_are_not_screened(
    rows, epsilon, share, evidence, pairs
):
    budget = TrainingBudget(epsilon, 1e-5, "add_remove", share=share)
    plan = BlockLearner(evidence=evidence).plan(words(6, rows), budget)
    assert plan.pairs == pairs
    assert 0.99 * epsilon < epsilon_of(plan.event, 1e-5, "add_remove") <= epsilon


@pytest.mark.parametrize("columns", [1, 2, 3, 7])
@pytest.mark.parametrize("evidence", [None, 100.0])
@pytest.mark.parametrize("draws", [10, 11, 60])
def test_every_number_of_columns_draws_what_was_planned(columns, evidence, draws):
    learner = BlockLearner(steps=2, draws=draws, evidence=evidence)
    scorer = trained(learner, words(columns), drawn(columns, lambda x: x[:, 0] > 0, rows=50))
    assert (scorer.grouping is not None) == (columns > 1 and evidence is None)


RULES = {
    "two columns": lambda x: x[:, 0] == x[:, 3],
    "three columns": lambda x: (x[:, 0] + x[:, 1] + x[:, 4]) % 3 == 0,
    "an exception": lambda x: (x[:, 1] > 0) != ((x[:, 2] > 0) & (x[:, 5] < 2)),
}


@pytest.mark.parametrize(("rule", "reached"), [("two columns", 0.93), ("an exception", 0.93)])
def test_rules_about_several_columns_are_learned(rule, reached):
    records, test = (drawn(6, RULES[rule], seed=seed) for seed in (0, 1))
    blocks = trained(BlockLearner(), words(6), records)
    assert blocks.grouping is not None
    assert accuracy(blocks, test) > reached
    assert accuracy(trained(LogisticLearner(), words(6), records), test) < 0.8


@pytest.mark.parametrize(("odds", "pairs"), [(2.0, 15), (0.25, 12)])
def test_all_corrections_are_kept_if_an_interaction_is_large(odds, pairs):
    """Otherwise only the best pairs are visited, after further linear steps."""
    records = drawn(6, RULES["two columns"])
    chances = 1 / (1 + np.exp(-odds * (RULES["two columns"](codes_in(records)) - 1 / 3)))
    labels = np.random.default_rng(3).random(len(records)) < chances
    blocks = trained(BlockLearner(), words(6), records.with_labels(labels.astype(int)), 5.0)
    assert sum(len(block) == 2 for block in blocks.blocks) == pairs


def test_with_few_columns_even_a_rule_that_no_pair_shows_is_learned():
    records, test = (drawn(5, RULES["three columns"], seed=seed) for seed in (0, 1))
    assert accuracy(trained(BlockLearner(evidence=None), words(5), records, 3.0), test) > 0.9


def test_without_interactions_the_descent_goes_on():
    def sums(x):
        return x[:, 0] + x[:, 1] + x[:, 2] + x[:, 3] > 3.5

    records, test = (drawn(6, sums, seed=seed) for seed in (0, 1))
    odds = 0.8 * (codes_in(records)[:, :4].sum(axis=1) - 4)
    labels = np.random.default_rng(2).random(len(odds)) < 1 / (1 + np.exp(-odds))
    records = records.with_labels(labels.astype(int))
    blocks = trained(BlockLearner(), words(6), records)
    assert set(blocks.tensors()) == {"weights"}
    linear = trained(LogisticLearner(), words(6), records)
    assert accuracy(blocks, test) == pytest.approx(accuracy(linear, test), abs=0.01)


@pytest.mark.parametrize("evidence", [None, 1000.0])
def test_one_record_moves_every_sum_within_its_sensitivity(evidence, loans, loan_schema):
    """Runs twice with the recorded noisy sums fed back; only the exact sums may differ."""
    X, y = loans
    learner = BlockLearner(steps=5, draws=30, evidence=evidence)
    model = PrivateFairClassifier(3, schema=loan_schema, learner=learner, mode="reuse")
    first = Recording()
    with noise_from(lambda seed: first):
        model.fit(X, y)
    tensors, largest = model.scorer_.tensors(), 0.0
    for removed in (0, 17, 2999):
        kept, other = np.delete(np.arange(3000), removed), Recording(first.answers)
        with noise_from(lambda seed, other=other: other):
            model.fit(X[kept.tolist()], y[kept])
        for name, tensor in model.scorer_.tensors().items():
            np.testing.assert_array_equal(tensor, tensors[name])
        for a, b in zip(first.questions, other.questions, strict=True):
            if a.kind != "grid":
                continue
            change = zip(
                a.units.ravel().tolist(), (a.value - b.value).ravel().tolist(), strict=True
            )
            moved = sum((Fraction(u) * c) ** 2 for u, c in change) / Fraction(a.sensitivity) ** 2
            assert moved <= 1
            largest = max(largest, float(moved))
    assert largest > 0.5


def test_a_model_of_blocks_survives_its_file(tmp_path, loans, loan_schema):
    X, y = loans
    learner = BlockLearner(evidence=None)
    model = PrivateFairClassifier(3, schema=loan_schema, learner=learner, random_state=0)
    path = save_model(model.fit(X, y), tmp_path / "blocks.dpfair")
    loaded = load_model(path)
    assert isinstance(loaded.scorer_, BlockScorer)
    assert loaded.scorer_.blocks == model.scorer_.blocks
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()


def test_progress_counts_all_steps_of_the_descent(loan_schema):
    learner, done = BlockLearner(steps=3, draws=10, evidence=1000.0), []
    plan = learner.plan(loan_schema, TrainingBudget(1.0, 1e-5, "add_remove"))
    receipt = Ledger(1, 1e-5, noise=Noise(0)).charge(plan.event, scope="", purpose="train")
    empty = Records.of_arrays(
        np.zeros((0, 2)), np.zeros((0, 1), np.int32), np.zeros(0, int), np.zeros(0, int)
    )
    learner.train(plan, empty, loan_schema, receipt, done.append)
    # Four of the last draws ask pairs again.
    assert done == [1, 2, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "parameters",
    [
        *({"steps": 0}, {"draws": 9}, {"draws": 10.5}, {"evidence": 0.0}, {"evidence": np.nan}),
        *({"clip": 0.0}, {"learning_rate": -1.0}),
    ],
)
def test_impossible_settings_are_refused_before_any_record_is_read(parameters, loans, loan_schema):
    model = PrivateFairClassifier(schema=loan_schema, learner=BlockLearner(**parameters))
    with pytest.raises(InputError):
        model.fit(*loans)

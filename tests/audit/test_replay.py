"""The replay audit finds planted bugs, each of which has been a real one somewhere."""

from __future__ import annotations

import numpy as np
import pytest
from audit import planted_bugs as bugs
from audit.planted_bugs import ENTRIES, broken

from dpfair import PrivateLogisticRegression
from dpfair.audit.catalogue import Method, PrivateBatch
from dpfair.audit.neighbours import neighbours
from dpfair.audit.replay import neighbours_of, replay, replay_method
from dpfair.audit.sample import probe_table, sample_schema
from dpfair.methods.dp_fermi import DPFermi
from dpfair.privacy.events import step_event
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import noise_source

SCHEMA = sample_schema()


def sentences(method, relation="add_remove", situations=""):
    """What the audit says, on the situations whose names contain a word."""
    method = ENTRIES[method] if isinstance(method, str) else method
    pairs = [p for p in neighbours_of(method, SCHEMA, relation) if situations in p.name]
    report = replay_method(method, SCHEMA, relation, pairs)
    return [violation.sentence for violation in report.violations]


BUGS = [
    # bug, method, on which tables, and what is said
    (bugs.no_clipping, "logistic", "class", "is promised"),
    (bugs.no_clipping, "logistic-exact", "class", "is promised"),
    (bugs.half_the_sensitivity, "logistic", "class", "is promised"),
    (bugs.half_the_sensitivity, "logistic-exact", "class", "is promised"),
    (bugs.half_the_sensitivity_of_trees, "boosting", "class", "is promised"),
    (bugs.division_by_the_true_number_of_records, "logistic-sgd", "class", "weights depends"),
    (bugs.sensitivity_by_the_true_number_of_records, "logistic", "class", "another sensitivity"),
    (bugs.rate_of_the_batches_by_the_true_number, "logistic-sgd", "class", "at another rate"),
    (bugs.rate_of_the_batches_by_the_true_number, "logistic-sgd-exact", "class", "at another rate"),
    (bugs.numbers_scaled_by_the_data, "logistic-sgd", "outlier", "is promised"),
    (bugs.a_step_that_nobody_charged, "logistic", "class", "scorer.weights depends"),
    (bugs.early_stop_by_the_true_loss, "logistic", "unrelated", "did not draw all"),
    (bugs.no_noise_on_an_empty_batch, "logistic-sgd", "of a table", "questions, but"),
    (bugs.a_smaller_learning_rate_for_many_records, "logistic", "unrelated", "weights depends"),
    (bugs.SplitByPermutation, "certified-odds", "group", "in the disjoint scopes"),
    (bugs.CountedRecordsTrain, "certified-odds", "group", "in the disjoint scopes"),
    (bugs.OtherScope, "certified-odds", "group", "in the disjoint scopes"),
    (bugs.SmallGroupLeftOut, "reuse", "number 5", "is promised"),
    (bugs.CountedTwice, "post-processor", "class", "moves by 2, and 1 is promised"),
    (bugs.AllRecordsOfAPerson, "certified-persons", "a person with", "is promised"),
    (bugs.RowsFilledIn, "certified-undeclared-rows", "class", "schema_.rows depends"),
    (bugs.TrueSizes, "algorithm2", "one more", "counts depends"),
    (bugs.ClassesFromLabels, "logistic", "repaid", "model.classes_ depends"),
    (bugs.ErrorAboutAGroup, "logistic", "sex =", "Only one of the runs ends with"),
    (bugs.PrintedNumber, "logistic", "class", "differ in the printed text"),
    (bugs.RecordsKept, "logistic", "class", "model.nearest_ depends"),
    (bugs.ScoredOnFitted, "search", "class", "exposes one record to more"),
    (bugs.ExactWinner, "search", "unrelated", "depends on a record"),
    (bugs.UnstatedAssumption, "dp-fermi", "class", "does not list the assumption"),
    (bugs.labels_counted_under_the_name_of_groups, "dp-fermi-odds", "matched", "differs, although"),
    (bugs.LargestNumberAsSize, "dp-fermi", "matched", "differs, although"),
    (
        bugs.groups_counted_under_the_name_of_the_size,
        "algorithm2-paper",
        "matched",
        "differs, although",
    ),
    (bugs.DrawnUnplanned, "reuse", "class", "paid for 0 draws"),
    (bugs.PlannedAgain, "reuse", "class", "is not the one that its settings lead to"),
]

NAMES = {bug: name for name, bug in vars(bugs).items() if isinstance(bug, type)}


@pytest.mark.parametrize(
    ("bug", "method", "situations", "said"),
    BUGS,
    ids=[f"{NAMES[bug]}-{method}" for bug, method, *_ in BUGS],
)
def test_a_planted_bug_is_caught(bug, method, situations, said):
    found = sentences(broken(method, bug), situations=situations)
    assert any(said in sentence for sentence in found), set(found)


def test_a_ledger_file_that_tells_the_number_of_records_is_caught():
    assert sentences("logistic-paid", situations="class") == []
    assert any("model.rows_[1].job" in s for s in sentences(bugs.PAID, situations="class"))


def test_a_fit_that_does_not_draw_what_it_planned_shows_nothing():
    """The library stops it: no answer is given out, and the audit says that fits failed."""
    method = broken("reuse", bugs.PlannedUndrawn)
    report = replay_method(
        method, SCHEMA, "add_remove", neighbours_of(method, SCHEMA, "add_remove")[:3]
    )
    assert report.failed == 3
    assert not report.passed


def test_the_price_of_removing_does_not_pay_for_replacing():
    cheap = broken("reuse", bugs.CheapTables)
    assert sentences(cheap, "add_remove", "class") == []
    assert any("moves by 2, and 1 is" in s for s in sentences(cheap, "replace_one", "class"))


def test_counts_by_label_that_dp_fermi_called_shares_of_groups_are_caught():
    """One replaced label moves them, though no record changes its group."""
    assert sentences("dp-fermi-odds", "replace_one", "other label") == []
    method = broken("dp-fermi-odds", bugs.labels_counted_under_the_name_of_groups)
    assert any(
        "'the number of records of each group' differs, although" in sentence
        for sentence in sentences(method, "replace_one", "other label")
    )


def test_shares_of_groups_that_are_read_in_passing_are_caught():
    """They turn everybody's gradient; where all of them are clipped, the sum moves too far."""
    settings = {"clip": 0.02, "weight": 100.0}
    sound = broken("dp-fermi", DPFermi, **settings)
    method = broken("dp-fermi", bugs.shares_of_groups_read_in_passing, **settings)
    assert sentences(sound, situations="group") == []
    assert any("is promised" in s for s in sentences(method, situations="group"))


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_an_assumption_may_differ_in_what_it_declares(relation):
    """Every one of these pairs moves some assumed value, and none is accused."""
    for method in ("dp-fermi-odds", "dp-fermi-undeclared-rows", "algorithm2-paper"):
        assert sentences(method, relation, "group") == []


def test_a_permutation_splits_no_worse_than_coins_when_records_are_replaced():
    """The audit knows the relation: nobody moves when the number of records is fixed."""
    method = broken("certified-odds", bugs.SplitByPermutation)
    assert sentences(method, "replace_one", "group") == []


def test_only_unrelated_tables_show_what_no_single_record_turns():
    method = broken("logistic", bugs.a_smaller_learning_rate_for_many_records)
    near = [pair for pair in neighbours_of(method, SCHEMA, "add_remove") if pair.near]
    assert replay_method(method, SCHEMA, "add_remove", near).violations == ()


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_unrelated_tables_may_move_exact_values_as_far_as_they_like(relation):
    pairs = neighbours_of(ENTRIES["reuse"], SCHEMA, relation)
    far = [pair for pair in pairs if not pair.near]
    report = replay_method(ENTRIES["reuse"], SCHEMA, relation, far)
    assert report.violations == ()
    assert report.touched == frozenset(), "they say nothing about distances"


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_published_code_of_dp_fermi_is_caught(relation):
    method = Method(
        "reference",
        "as coded",
        lambda schema, relation: DPFermi(
            3, schema=schema, relation=relation, variant="reference", epochs=1, batch_size=8
        ),
    )
    found = sentences(method, relation, "class")
    assert (
        "model.fitted_.scorer.weights depends on a record in other ways than by the noisy answers."
        in found
    )


def test_a_schema_read_off_the_data_is_caught():
    method = Method(
        "inferred",
        "no schema",
        lambda schema, relation: PrivateLogisticRegression(3, steps=3, relation=relation),
    )
    found = sentences(method, "replace_one")
    assert any("model.schema_.columns" in sentence for sentence in found)
    assert any("differ in the error" in sentence for sentence in found)


def test_exact_batch_quotas_are_caught():
    """Without epsilon, a decision depends on everybody else's exact score, and says so."""
    made = ENTRIES["batch"].make

    def exact(schema, relation):
        return PrivateBatch(made(schema, relation).model, epsilon=None)

    method = Method("quotas", "exact", exact, refuses_unknown_groups=True)
    found = sentences(method)
    assert any("model.cuts_" in sentence for sentence in found)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_a_hundred_thousandth_more_than_promised_is_a_violation(relation):
    """Some neighbour exhausts the promise, and the audit forgives the rounding of sums only."""
    assert sentences("logistic", relation, "label") == []
    method = broken("logistic", bugs.a_hundred_thousandth_less_sensitivity)
    assert any("is promised" in s for s in sentences(method, relation, "label"))


class StepsOnAGrid:
    """Every record of the table moves a sum by some steps of a grid; the sensitivity is 1."""

    def __init__(self, steps):
        self.steps = steps

    def fit(self, X, y):
        event = step_event(1.0, 1.0, exact=True)
        self.ledger_ = Ledger(100, 1e-5, noise=noise_source(None))
        draw = self.ledger_.charge(event, scope="", purpose="a sum").draw(event)
        self.sum_ = draw.discrete_gaussian(np.array([self.steps * len(X)]), np.array([2.0**-50]), 1)


@pytest.mark.parametrize(
    ("steps", "violations"), [(2**50, 0), (2**50 + 1, 1)], ids=["all", "one step more"]
)
def test_integers_on_a_grid_are_forgiven_nothing(steps, violations):
    pair = neighbours(SCHEMA, "add_remove")[0]
    assert len(replay(lambda: StepsOnAGrid(steps), pair, probe_table(SCHEMA))) == violations


def test_one_pair_can_be_replayed_alone():
    pair = neighbours(SCHEMA, "add_remove")[0]
    probe = probe_table(SCHEMA)
    assert replay(lambda: ENTRIES["reuse"].make(SCHEMA, "add_remove"), pair, probe) == []


def test_a_report_tells_what_was_looked_at():
    method = ENTRIES["certified-odds"]
    pairs = neighbours_of(method, SCHEMA, "add_remove")[:3]
    report = replay_method(method, SCHEMA, "add_remove", pairs)
    assert (report.method, report.relation, report.pairs) == ("certified-odds", "add_remove", 3)
    assert report.touched == report.asked == {"train", "release"}
    assert (report.failed, report.violations) == (0, ())
    one = replay_method(method, SCHEMA, "add_remove", pairs[:1])
    assert one.touched < one.asked
    method = broken("logistic", bugs.ErrorAboutAGroup)
    lonely = [p for p in neighbours_of(method, SCHEMA, "add_remove") if "sex = f" in p.name]
    report = replay_method(method, SCHEMA, "add_remove", lonely)
    assert report.failed == 1
    assert report.violations[0].neighbours == "the only record with sex = f"

"""The replay audit finds planted bugs, each of which has been a real one somewhere."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import dpfair.fairness.release as release
import dpfair.learners.logistic as logistic
import dpfair.methods.dp_fermi.method as dp_fermi
import dpfair.methods.fair_classifier as private_fair
import dpfair.methods.search as search
from dpfair import InputError, PrivateLogisticRegression
from dpfair.audit.catalogue import CATALOGUE, Method, PrivateBatch
from dpfair.audit.neighbours import neighbours
from dpfair.audit.observe import Run
from dpfair.audit.replay import _too_far, neighbours_of, replay, replay_method
from dpfair.audit.sample import probe_table, sample_schema
from dpfair.audit.tape import Session
from dpfair.data.table import as_texts
from dpfair.data.tabular import TabularInput
from dpfair.learners.descent import FlatClip
from dpfair.methods.dp_fermi.method import DPFermi
from dpfair.methods.search import _Table
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.draw import Draw, Question
from dpfair.privacy.events import step_event
from dpfair.privacy.ledger import Ledger

SCHEMA = sample_schema()
METHODS = {method.name: method for method in CATALOGUE}


def sentences(method, relation="add_remove", situations=""):
    """What the audit says, on the situations whose names contain a word."""
    method = METHODS[method] if isinstance(method, str) else method
    pairs = [p for p in neighbours_of(method, SCHEMA, relation) if situations in p.name]
    report = replay_method(method, SCHEMA, relation, pairs)
    return [violation.sentence for violation in report.violations]


def wrap(patch, owner, name, around):
    """Replace a function by ``around(the function, *arguments)``."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **named: around(original, *args, **named))


def no_clipping(patch):
    patch.setattr(FlatClip, "limit", property(lambda self: 1e9))


def half_the_sensitivity(patch):
    def gaussian(original, draw, value, sensitivity, *rest):
        return original(draw, value, sensitivity / 2, *rest)

    wrap(patch, Draw, "gaussian", gaussian)


def half_the_sensitivity_of_integers(patch):
    def discrete(original, draw, value, units, sensitivity):
        return original(draw, value, units, sensitivity / 2)

    wrap(patch, Draw, "discrete_gaussian", discrete)


def replacing_priced_as_removing(patch):
    wrap(patch, release, "noisy_table", lambda original, eps, relation: original(eps, "add_remove"))


def division_by_the_true_number_of_records(patch):
    def descend(original, plan, design, *rest, **named):
        return original(dataclasses.replace(plan, divisor=len(design)), design, *rest, **named)

    wrap(patch, logistic, "descend", descend)


def sensitivity_by_the_true_number_of_records(patch):
    def descend(original, plan, design, *rest, **named):
        clip = FlatClip(plan.clip.norm * (1 + 1 / len(design)))
        return original(dataclasses.replace(plan, clip=clip), design, *rest, **named)

    wrap(patch, logistic, "descend", descend)


def rate_of_the_batches_by_the_true_number(patch):
    def batch(original, draw, population):
        draw._rate = min(1.0, 8 / population)
        return original(draw, population)

    wrap(patch, Draw, "batch", batch)


def nearly_empty_group_left_out(patch):
    def exact_counts(original, scores, groups, *rest):
        counts = original(scores, groups, *rest)
        counts[counts.sum(axis=(1, 2)) < 5] = 0
        return counts

    wrap(patch, release, "exact_counts", exact_counts)


def numbers_scaled_by_the_data(patch):
    def design(original, features, schema, records):
        middle = np.nan_to_num(np.nanmean(records.numeric, axis=0))
        spread = np.nan_to_num(np.nanstd(records.numeric, axis=0)) + 1e-3
        columns = [
            dataclasses.replace(c, center=float(middle[i]), scale=float(spread[i]))
            for i, c in enumerate(schema.numeric)
        ]
        fitted = dataclasses.replace(schema, columns=(*columns, *schema.categorical))
        return original(features, fitted, records)

    wrap(patch, logistic, "design", design)


def a_step_that_nobody_charged(patch):
    def descend(original, plan, design, *rest, receipt, **named):
        weights = original(plan, design, *rest, receipt=receipt, **named)
        exact = design.weighted_sum(np.ones(len(design), dtype=np.float32))
        return weights - 0.01 * (exact + receipt._noise.normals(len(exact)))

    wrap(patch, logistic, "descend", descend)


def early_stop_by_the_true_loss(patch):
    def descend(original, plan, design, labels, *rest, **named):
        steps = plan.steps if labels.mean() < 0.5 else 2
        return original(dataclasses.replace(plan, steps=steps), design, labels, *rest, **named)

    wrap(patch, logistic, "descend", descend)


def split_by_a_permutation(patch):
    def coin_split(original, n, shares, noise, units=None):
        order, cuts = np.argsort(noise.uniforms(n)), np.cumsum([*shares.values()])[:-1]
        parts = np.split(order, (cuts * n).astype(int))
        return dict(zip(shares, map(np.sort, parts), strict=True))

    wrap(patch, private_fair, "coin_split", coin_split)


def counted_records_train_as_well(patch):
    def coin_split(original, n, *rest):
        return original(n, *rest) | {"train": np.arange(n)}

    wrap(patch, private_fair, "coin_split", coin_split)


def classes_read_off_the_labels(patch):
    def training_records(original, model, X, y, *rest):
        records = original(model, X, y, *rest)
        model.classes_ = np.array(sorted(set(as_texts(y)) - {None}))
        return records

    wrap(patch, PrivateLogisticRegression, "_training_records", training_records)


def true_group_sizes_beside_noisy_counts(patch):
    def release_table(original, scores, groups, names, **how):
        noisy = original(scores, groups, names, **how)
        sizes = np.bincount(groups, minlength=len(names))
        counts = np.stack([sizes - noisy.counts[:, 0, 1], noisy.counts[:, 0, 1]], axis=1)
        return dataclasses.replace(noisy, counts=counts[:, None, :])

    wrap(patch, private_fair, "release_table", release_table)


def no_noise_on_an_empty_batch(patch):
    def gaussian(original, draw, value, *rest):
        return original(draw, value, *rest) if value.any() else value

    wrap(patch, Draw, "gaussian", gaussian)


def a_record_counted_twice(patch):
    wrap(patch, release, "exact_counts", lambda original, *args: 2 * original(*args))


def all_records_of_a_person(patch):
    wrap(patch, private_fair, "bound_units", lambda original, units, most: original(units, 99))


def scores_on_fitted_records(patch):
    def split(original, table, *rest):
        fitting, _ = original(table, *rest)
        return fitting, fitting

    wrap(patch, _Table, "split", split)


def an_error_about_an_empty_group(patch):
    def training_records(original, model, *rest):
        records = original(model, *rest)
        if len(np.unique(records.groups)) < 2:
            raise InputError("One group has no records.")
        return records

    wrap(patch, PrivateLogisticRegression, "_training_records", training_records)


def a_printed_number_of_records(patch):
    def descend(original, plan, design, *rest, **named):
        print(f"training on {len(design)} records")
        return original(plan, design, *rest, **named)

    wrap(patch, logistic, "descend", descend)


def an_assumption_that_is_not_stated(patch):
    patch.setattr(Ledger, "assumptions", ())


def shares_of_groups_read_in_passing(patch):
    patch.setattr(Ledger, "assume", lambda ledger, fact, value: value)


def labels_counted_under_the_name_of_groups(patch):
    wrap(patch, dp_fermi, "Assumption", lambda original, by=(): original(by[:1]))


def the_largest_number_under_the_name_of_the_size(patch):
    def penalty(original, model, records, ledger):
        ledger.assume(Assumption(), records.numeric.max(axis=0, initial=0.0))
        return original(model, records, ledger)

    wrap(patch, DPFermi, "_penalty", penalty)


def groups_counted_under_the_name_of_the_size(patch):
    wrap(patch, release, "Assumption", lambda original, by, scope: original((), scope))


def a_charge_that_nobody_planned(patch):
    wrap(patch, DPFermi, "planned_events", lambda original, model, schema: [])


def the_number_of_records_in_the_ledger(patch):
    def payment(original, model, own, X, **how):
        made = original(model, own, X, **how)
        made._how["purpose"] = f"fit on {len(X)} rows"
        return made

    wrap(patch, TabularInput, "_payment", payment)


def undeclared_rows_filled_in(patch):
    def training_records(original, model, *rest):
        records = original(model, *rest)
        if model.schema_.rows is None:
            model.schema_ = dataclasses.replace(model.schema_, rows=len(records))
        return records

    wrap(patch, TabularInput, "_training_records", training_records)


def the_winner_by_the_exact_score(patch):
    """The noisy score is drawn, paid and shown, and does not decide."""

    def best(original, template, runs, fitting, validation, ledger, draw):
        tried = [
            search._run(template, runs, fitting, validation, ledger, draw)
            for _ in range(draw.runs())
        ]
        return max(tried, key=lambda run: search._right_and_wrong(run.model, validation)[0])

    wrap(patch, search, "_best", best)


def a_smaller_learning_rate_for_many_records(patch):
    def descend(original, plan, design, *rest, optimizer, **named):
        if len(design) > 1000:
            optimizer.learning_rate /= 2
        return original(plan, design, *rest, optimizer=optimizer, **named)

    wrap(patch, logistic, "descend", descend)


def records_kept_in_the_model(patch):
    def run(original, model, plan, records, *rest):
        model.nearest_ = records.numeric
        return original(model, plan, records, *rest)

    wrap(patch, PrivateLogisticRegression, "_run", run)


BUGS = [
    # bug, method, on which neighbours, and what is said
    (no_clipping, "logistic", "class", "is promised"),
    (no_clipping, "logistic-exact", "class", "is promised"),
    (half_the_sensitivity, "logistic", "class", "is promised"),
    (half_the_sensitivity, "boosting", "class", "is promised"),
    (half_the_sensitivity_of_integers, "logistic-exact", "class", "is promised"),
    (division_by_the_true_number_of_records, "logistic-sgd", "class", "scorer_.weights depends"),
    (sensitivity_by_the_true_number_of_records, "logistic", "class", "another sensitivity"),
    (rate_of_the_batches_by_the_true_number, "logistic-sgd", "class", "at another rate"),
    (rate_of_the_batches_by_the_true_number, "logistic-sgd-exact", "class", "at another rate"),
    (nearly_empty_group_left_out, "reuse", "number 5", "is promised"),
    (numbers_scaled_by_the_data, "logistic-sgd", "outlier", "is promised"),
    (a_step_that_nobody_charged, "logistic", "class", "scorer_.weights depends"),
    (early_stop_by_the_true_loss, "logistic", "repaid", "only 2 were used"),
    (split_by_a_permutation, "certified-odds", "group", "in the disjoint scopes"),
    (counted_records_train_as_well, "certified-odds", "group", "in the disjoint scopes"),
    (classes_read_off_the_labels, "logistic", "repaid", "model.classes_ depends"),
    (true_group_sizes_beside_noisy_counts, "algorithm2", "one more", "release_.counts depends"),
    (no_noise_on_an_empty_batch, "logistic-sgd", "of a table", "questions, but"),
    (a_record_counted_twice, "reuse", "class", "moves by 2, and 1 is promised"),
    (all_records_of_a_person, "certified-persons", "a person with", "is promised"),
    (scores_on_fitted_records, "search", "class", "exposes one record to more"),
    (an_error_about_an_empty_group, "logistic", "sex =", "Only one of the runs ends with"),
    (a_printed_number_of_records, "logistic", "class", "can tell by the printed text"),
    (an_assumption_that_is_not_stated, "dp-fermi", "class", "does not list the assumption"),
    (shares_of_groups_read_in_passing, "dp-fermi-paper", "group", "has another event"),
    (labels_counted_under_the_name_of_groups, "dp-fermi-odds", "twins", "depends on more than"),
    (the_largest_number_under_the_name_of_the_size, "dp-fermi", "twins", "depends on more than"),
    (groups_counted_under_the_name_of_the_size, "algorithm2-paper", "twins", "depends on more"),
    (a_charge_that_nobody_planned, "dp-fermi", "class", "are not the planned ones"),
    (records_kept_in_the_model, "logistic", "class", "model.nearest_ depends"),
    (the_number_of_records_in_the_ledger, "logistic-paid", "class", "model.rows_[1].purpose"),
    (undeclared_rows_filled_in, "certified-undeclared-rows", "class", "schema_.rows depends"),
    (the_winner_by_the_exact_score, "search", "strangers", "depends on a record"),
    (a_smaller_learning_rate_for_many_records, "logistic", "strangers", "scorer_.weights depends"),
]


@pytest.mark.parametrize(
    ("bug", "method", "situations", "said"),
    BUGS,
    ids=[f"{bug.__name__}-{method}" for bug, method, *_ in BUGS],
)
def test_a_planted_bug_is_caught(bug, method, situations, said, monkeypatch):
    bug(monkeypatch)
    found = sentences(method, situations=situations)
    assert any(said in sentence for sentence in found), set(found)


def test_the_price_of_removing_does_not_pay_for_replacing(monkeypatch):
    replacing_priced_as_removing(monkeypatch)
    assert sentences("reuse", "add_remove", "class") == []
    assert any("moves by 2, and 1 is" in s for s in sentences("reuse", "replace_one", "class"))


def test_counts_by_label_that_dp_fermi_called_shares_of_groups_are_caught(monkeypatch):
    """One replaced label moves them, though no record changes its group."""
    assert sentences("dp-fermi-odds", "replace_one", "other label") == []
    labels_counted_under_the_name_of_groups(monkeypatch)
    assert any(
        "'the number of records of each group' depends on more" in sentence
        for sentence in sentences("dp-fermi-odds", "replace_one", "other label")
    )


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_an_assumption_may_differ_in_what_it_declares(relation):
    """Every neighbour and twin moves some assumed value of these, and none is accused."""
    for method in ("dp-fermi-odds", "dp-fermi-undeclared-rows", "algorithm2-paper"):
        assert sentences(method, relation, "group") == []


def test_a_permutation_splits_no_worse_than_coins_when_records_are_replaced(monkeypatch):
    """The audit knows the relation: nobody moves when the number of records is fixed."""
    split_by_a_permutation(monkeypatch)
    assert sentences("certified-odds", "replace_one", "group") == []


def test_only_strangers_show_what_no_single_record_turns(monkeypatch):
    a_smaller_learning_rate_for_many_records(monkeypatch)
    pairs = neighbours_of(METHODS["logistic"], SCHEMA, "add_remove")
    near = [pair for pair in pairs if pair.near]
    assert replay_method(METHODS["logistic"], SCHEMA, "add_remove", near).violations == ()


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_strangers_may_move_exact_values_as_far_as_they_like(relation):
    pairs = neighbours_of(METHODS["reuse"], SCHEMA, relation)
    far = [pair for pair in pairs if not pair.near]
    report = replay_method(METHODS["reuse"], SCHEMA, relation, far)
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
    assert "model.scorer_.weights depends on a record beside its noisy answers." in found


def test_a_schema_read_off_the_data_is_caught():
    method = Method(
        "inferred",
        "no schema",
        lambda schema, relation: PrivateLogisticRegression(3, steps=3, relation=relation),
    )
    found = sentences(method, "replace_one")
    assert any("model.schema_.columns[0].bounds" in sentence for sentence in found)
    assert any("can tell by the error" in sentence for sentence in found)


def test_exact_batch_quotas_are_caught():
    """Without epsilon, a decision depends on everybody else's exact score, and says so."""
    made = METHODS["batch"].make

    def exact(schema, relation):
        return PrivateBatch(made(schema, relation).model, epsilon=None)

    method = Method("quotas", "exact", exact, refuses_unknown_groups=True)
    found = sentences(method)
    assert any("model.cuts_" in sentence for sentence in found)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_a_hundred_thousandth_more_than_promised_is_a_violation(relation, monkeypatch):
    """Some neighbour exhausts the promise, and the audit forgives the rounding of sums only."""

    def gaussian(original, draw, value, sensitivity, *rest):
        return original(draw, value, (1 - 1e-5) * sensitivity, *rest)

    assert sentences("logistic", relation, "label") == []
    wrap(monkeypatch, Draw, "gaussian", gaussian)
    assert any("is promised" in s for s in sentences("logistic", relation, "label"))


@pytest.mark.parametrize(
    ("steps", "violations"), [(2**50, 0), (2**50 + 1, 1)], ids=["all", "one step more"]
)
def test_integers_on_a_grid_are_forgiven_nothing(steps, violations):
    pair = neighbours(SCHEMA, "add_remove")[0]
    fixed, sessions = {"event": step_event(1.0, 1.0, exact=True), "scope": ""}, []
    for value in (0, steps):
        units = np.array([2.0**-50])
        question = Question("grid", np.array([value]), **fixed, noise_multiplier=1.0, units=units)
        sessions.append(Session(script=[h for s in sessions for h in s.heard] or None))
        sessions[-1]().answer(question, lambda: np.array([0]))
    runs = [Run(None, tuple(s.heard), (), False, {"the error": ""}, {}) for s in sessions]
    assert len(list(_too_far(*runs, pair))) == violations


def test_one_pair_can_be_replayed_alone():
    pair = neighbours(SCHEMA, "add_remove")[0]
    probe = probe_table(SCHEMA)
    assert replay(lambda: METHODS["reuse"].make(SCHEMA, "add_remove"), pair, probe) == []


def test_a_report_tells_what_was_looked_at(monkeypatch):
    method = METHODS["certified-odds"]
    pairs = neighbours_of(method, SCHEMA, "add_remove")[:3]
    report = replay_method(method, SCHEMA, "add_remove", pairs)
    assert (report.method, report.relation, report.pairs) == ("certified-odds", "add_remove", 3)
    assert report.touched == report.asked == {"train", "release"}
    assert (report.failed, report.violations) == (0, ())
    one = replay_method(method, SCHEMA, "add_remove", pairs[:1])
    assert one.touched < one.asked
    method = METHODS["logistic"]
    an_error_about_an_empty_group(monkeypatch)
    lonely = [p for p in neighbours_of(method, SCHEMA, "add_remove") if "sex = f" in p.name]
    report = replay_method(method, SCHEMA, "add_remove", lonely)
    assert report.failed == 1
    assert report.violations[0].neighbours == "the only record with sex = f"

"""Means over seeds and tables, what is missing, and the choice."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from scripts.panel.contenders import Contender
from scripts.panel.summary import Results, choose, mean_of

A, B = (Contender(name, "bounds", "reuse", 1.0) for name in ("logistic", "boosting"))


def entry(table, contender, seed, accuracy, **more):
    found = {"table": table, "contender": asdict(contender), "seed": seed, "source": "s"}
    return {**found, "accuracy": accuracy, "gap": 0.1, **more}


def entries(accuracies):
    """Two seeds of each, a little apart."""
    return [
        entry(table, contender, seed, accuracy + seed / 100)
        for (table, contender), accuracy in accuracies.items()
        for seed in (0, 1)
    ]


def test_mean_and_standard_error():
    assert mean_of([1.0, 3.0]).value == 2
    assert mean_of([1.0, 3.0]).error == pytest.approx(1)
    assert mean_of([1.0]).error is None


def test_the_newest_result_counts_and_other_seeds_do_not():
    runs = [entry("t", A, 0, 0.5), entry("t", A, 0, 0.7), entry("t", A, 9, 0.1)]
    assert Results(runs, [0]).mean("t", A).value == 0.7


def test_without_all_seeds_there_is_no_mean():
    results = Results([entry("t", A, 0, 0.5)], [0, 1])
    assert results.mean("t", A) is None
    assert results.over_tables(["t"], A) is None
    assert results.missing(["t", "u"]) == {("t", A): 1, ("u", A): 2}


def test_an_error_is_a_failure_and_not_missing():
    failed = entry("t", A, 1, 0.5, error="E: text")
    del failed["accuracy"]
    results = Results([entry("t", A, 0, 0.5), failed], [0, 1])
    assert results.failures() == {("t", A, "E: text"): 1}
    assert not results.missing(["t"])
    assert results.mean("t", A) is None


def test_the_learner_with_the_highest_mean_over_tables_is_chosen():
    accuracies = {("t", A): 0.6, ("t", B): 0.7, ("u", A): 0.8, ("u", B): 0.74}
    choice = choose(Results(entries(accuracies), [0, 1]), "bounds", ["t", "u"])
    assert choice.learner == "boosting"
    assert choice.accuracies["boosting"] == pytest.approx(0.725)
    assert choice.ahead["boosting"].value == pytest.approx(0.02)
    assert choice.ahead["boosting"].error == pytest.approx(0.08)


def test_other_tables_do_not_choose():
    accuracies = {("t", A): 0.6, ("t", B): 0.7, ("u", A): 0.9, ("u", B): 0.1}
    assert choose(Results(entries(accuracies), [0, 1]), "bounds", ["t"]).learner == "boosting"


def test_a_learner_without_all_results_is_not_chosen():
    accuracies = {("t", A): 0.6, ("t", B): 0.7, ("u", A): 0.6}
    choice = choose(Results(entries(accuracies), [0, 1]), "bounds", ["t", "u"])
    assert choice.learner == "logistic"
    assert choice.accuracies["boosting"] is None


def test_without_results_there_is_no_choice():
    assert choose(Results([], [0, 1]), "bounds", ["t"]).learner is None


def test_sources_are_those_of_the_library():
    runs = [
        entry("t", A, 0, 0.5, source="one"),
        entry("t", A, 1, 0.5, source="two"),
        entry("t", Contender("constant"), 0, 0.5, source="three"),
    ]
    assert Results(runs, [0, 1]).sources == ["one", "two"]

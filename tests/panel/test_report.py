"""The page says what was run, what was chosen, what came out and what failed."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from scripts.panel.contenders import CONSTANT, QUOTAS, Contender
from scripts.panel.report import page
from scripts.panel.summary import Results

SEEDS = (0, 1)
LOGISTIC, BOOSTING = (Contender(name, "bounds", "reuse", 1.0) for name in ("logistic", "boosting"))
# The tables go to the halves in turns: the first one chooses.
ACCURACIES = {
    ("first", Contender(CONSTANT)): 0.5,
    ("first", Contender(QUOTAS)): 0.9,
    ("first", LOGISTIC): 0.7,
    ("first", BOOSTING): 0.8,
    ("second", Contender(CONSTANT)): 0.55,
    ("second", Contender(QUOTAS)): 0.95,
    ("second", LOGISTIC): 0.85,
    ("second", BOOSTING): 0.75,
}


@pytest.fixture
def tables(table):
    return [replace(table, name=name) for name in ("first", "second")]


def runs(accuracies=ACCURACIES, rows=6000):
    return [
        {
            "table": table,
            "contender": asdict(contender),
            "seed": seed,
            "source": "s",
            "rows": rows,
            "label_share": 0.4,
            "smaller_group": rows // 4,
            "columns": 3,
            "accuracy": accuracy + seed / 100,
            "gap": 0.02,
        }
        for (table, contender), accuracy in accuracies.items()
        for seed in SEEDS
    ]


def test_the_choosing_half_chooses_and_the_reporting_half_reports(tables):
    text = page(Results(runs(), SEEDS), tables)
    assert "The choice is **boosting**." in text
    assert "| boosting | .8050 / .0200 | .8050 | +0.1000 |" in text
    reported = text[text.index("## The reporting half: boosting, reuse") :]
    assert (
        "| second | .5550 ± .0050 / .0200 ± .0000 | .9550 ± .0050 / .0200 ± .0000 "
        "| .7550 ± .0050 / .0200 ± .0000 |" in reported
    )
    assert "| mean, logistic instead |  |  | .8550 / .0200 |" in reported
    assert "| first |" not in reported
    assert "None: every run ended with a result." in reported


def test_large_tables_are_marked(tables):
    assert "| 6,000 \\* |" in page(Results(runs(), SEEDS), tables)
    assert "| 4,000 |" in page(Results(runs(rows=4000), SEEDS), tables)


def test_failures_and_missing_runs_are_listed(tables):
    found = runs()
    failed = next(r for r in found if r["contender"] == asdict(BOOSTING))
    failed["error"] = "ValueError: no"
    del failed["accuracy"], failed["gap"]
    left = [r for r in found if (r["table"], r["contender"]["name"]) != ("second", "quotas")]
    text = page(Results(left, SEEDS), tables)
    assert (
        "* first, boosting, bounds, reuse, epsilon 1: 1 of 2 seeds failed: ValueError: no" in text
    )
    assert "* second, boosting with quotas, not private: 2 of 2 seeds not run." in text
    assert "The choice is **logistic**." in text
    assert "It was not compared with boosting, which lack results" in text


def test_several_versions_of_the_source_are_said(tables):
    found = runs()
    assert "versions of the source" not in page(Results(found, SEEDS), tables)
    next(r for r in found if r["contender"] == asdict(BOOSTING))["source"] = "other"
    assert "2 versions of the source made these results" in page(Results(found, SEEDS), tables)


def test_a_default_that_is_not_the_choice_is_reported_beside_it(tables):
    blocks = replace(LOGISTIC, name="blocks")
    behind = ACCURACIES | {("first", blocks): 0.79, ("second", blocks): 0.6}
    text = page(Results(runs(behind), SEEDS), tables)
    assert "The choice is **boosting**." in text
    assert "blocks, the default of the library, differs by -0.0100 here." in text
    for learner in ("blocks", "boosting"):
        assert f"## The reporting half: {learner}, reuse" in text

"""The report is complete, safe, honest about what is not private, and the same every time."""

from __future__ import annotations

import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import dpfair
from dpfair import (
    Algorithm2,
    DPFermi,
    FairPostProcessor,
    PrivateBoosting,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    Schema,
)
from dpfair.certificate.text import round_down, round_up
from dpfair.errors import InputError
from dpfair.report import render_report, write_report
from dpfair.report.account import scope_costs
from dpfair.report.bounds import frontier_of
from dpfair.report.rules import OTHERWISE, RULES
from dpfair.report.svg import frontier_plot

ATTACK = "<script>alert(1)</script>"
VOID = {"meta", "link", "br", "hr", "img", "input"}
EVALUATION = {
    "n": 1234,
    "accuracy": 0.8125,
    "gap": 0.0314,
    "group_rates": {ATTACK: 0.271},
    "floor": 0.0057,
}


class Page(HTMLParser):
    """Checks that tags nest; collects the tags, the attributes and the visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data if self.open[-1:] != ["style"] else ""


def table(groups=("f", "m"), column="age", rows=6000):
    rng = np.random.default_rng(0)
    who, age = rng.integers(len(groups), size=rows), rng.uniform(20, 60, rows)
    y = np.where(age + 8 * who + rng.normal(0, 5, rows) > 45, "yes", "no")
    X = pl.DataFrame({column: age, "group": [groups[i] for i in who]})
    return X, y


def schema(groups=("f", "m"), column="age"):
    return Schema.from_dict(
        {
            "label": {"name": "repaid", "values": ["no", "yes"]},
            "sensitive": {"name": "group", "values": list(groups)},
            "columns": [{"name": column, "kind": "numeric", "bounds": [20, 60]}],
        }
    )


def fitted(groups=("f", "m"), column="age", **options):
    X, y = table(groups, column)
    made = {"schema": schema(groups, column), "sensitive": "group"} | options
    return made.pop("method", PrivateFairClassifier)(3, **made).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def seeded():
    return fitted(method=Algorithm2, random_state=7, public_sizes=True, composition="basic")


def postprocessor(**options):
    X = np.random.default_rng(0).integers(0, 3, size=(900, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FairPostProcessor(lambda X: X.sum(axis=1) > 2, sensitive=0, **options).fit(X)


KINDS = {
    "three": {"groups": ("a", "b", "c")},
    "flips": {"method": Algorithm2},
    "reuse": {"mode": "reuse"},
    "check": {"mode": "reuse", "division": {"check_share": 0.3}},
    "odds": {"rule": {"notion": "equalized_odds", "tolerance": 0.02}},
    "ratio": {
        "rule": {"notion": "parity_ratio", "tolerance": 0.2, "capacity": 0.4, "costs": (1, 2)}
    },
    "fermi": {"method": DPFermi, "epochs": 1},
    "logistic": {"method": PrivateLogisticRegression, "steps": 5},
    "boosting": {"method": PrivateBoosting, "steps": 3, "trees": 4, "depth": 2},
}
OTHERS = ["private", "seeded", "exact", "noisy", "one", "person"]


@pytest.fixture(scope="module", params=[*OTHERS, *KINDS])
def any_model(request, model, seeded):
    if request.param == "one":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X, y = table()
            return PrivateFairClassifier(1).fit(X, y)
    if request.param == "person":
        X, y = table()
        X = X.with_columns(person=pl.int_range(len(X)).cast(pl.String))
        return PrivateFairClassifier(
            2, schema=schema(), sensitive="group", unit="person", rows_per_unit=2
        ).fit(X, y)
    if request.param in KINDS:
        return fitted(**KINDS[request.param])
    made = {"private": lambda: model, "seeded": lambda: seeded, "exact": postprocessor}
    made["noisy"] = lambda: postprocessor(epsilon=1, held_out=True)
    return made[request.param]()


@pytest.mark.parametrize("evaluation", [None, EVALUATION, {}])
def test_every_page_is_well_formed_self_contained_and_repeatable(any_model, evaluation):
    text = render_report(any_model, evaluation)
    page = Page(text)
    assert "script" not in page.tags
    assert not {"src", "href", "srcset", "data"} & {name for name, _ in page.attributes}
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert not re.search(r"https?://|url\(|@import|@font-face", text)
    labelled = any_model.counts_labels and len(any_model.schema_.groups) > 1
    numbers = [int(n) for n in re.findall(r"<h2><span>(\d)</span>", text)]
    assert numbers == list(range(1, 10 if labelled else 9))
    assert render_report(any_model, evaluation) == text


def test_the_svgs_are_well_formed_xml(any_model):
    drawings = re.findall(r"<svg.*?</svg>", render_report(any_model), flags=re.DOTALL)
    assert drawings
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img"
        assert root.get("aria-label")


def test_the_page_forbids_loading_and_scripts(model):
    assert "default-src 'none'; style-src 'unsafe-inline'" in render_report(model)


def test_names_are_escaped_everywhere():
    hostile = fitted((ATTACK, '"><img src=x onerror=alert(2)>'), column=f"{ATTACK}{{{{7*7}}}}")
    text = render_report(hostile, EVALUATION | {ATTACK: ATTACK})
    page = Page(text)
    assert not {"script", "img"} & set(page.tags)
    assert page.text.count(ATTACK) >= 8
    assert "{{7*7}}" in page.text  # a name is never a template


def test_the_numbers_are_on_the_page(model):
    page = Page(render_report(model))
    fairness = model.certificate_.fairness
    assert round_up(fairness.gap_bound) in page.text
    assert round_down(fairness.accuracy_bound) in page.text
    for sentence in model.certificate_.sentences():
        assert sentence in page.text
    before = fairness.rates_before or [None] * 2
    for first, after in zip(before, fairness.rates_after, strict=True):
        assert (f"{after:.1%}" if first is None else f"{first:.1%} → {after:.1%}") in page.text
    for count in model.release_.counts.ravel().tolist():
        assert f"{count:,}" in page.text
    steps = r"50 x discrete Gaussian, noise multiplier [\d.]+, all records of the"
    assert re.search(steps, page.text)
    for epsilon in ("2.25", "0.75"):  # the rule's decisions, and scores for other rules
        assert f"discrete Laplace, ε = {epsilon} per table" in page.text
    assert "plan the rates of the groups" in page.text
    for point in model.frontier():
        if point.gap < point.tolerance - 1e-6:
            break  # from here on, tolerances change nothing
        assert f"{point.accuracy:.4f}{point.gap:.4f}" in page.text
        assert round_up(point.gap_bound) in page.text
        assert round_down(point.accuracy_bound) in page.text


def test_the_papers_numbers_are_on_the_page():
    model = fitted(method=Algorithm2)
    page, fairness = Page(render_report(model)), model.certificate_.fairness
    for value in fairness.bounds.values():
        assert round_up(value) in page.text
    for before, after in zip(fairness.rates_before, fairness.rates_after, strict=True):
        assert f"{before:.1%} → {after:.1%}" in page.text
    low, high = sorted(model.rule_.accept.tolist(), key=lambda row: row[1])
    assert f"{low[1]:.1%} stay accepted" in page.text
    assert f"{high[0]:.1%} are accepted" in page.text
    assert "What else the counts offer" not in page.text


def test_reuse_says_what_it_cannot_promise_and_a_check_what_it_can():
    model = fitted(mode="reuse", random_state=1)
    text = render_report(model)
    assert "<strong>NOT CERTIFIED</strong>" in text
    assert "the counted records also trained the scorer" in text
    assert "Certified gap" not in text
    assert "Gap at most" not in text
    assert f"≈ {model.certificate_.fairness.gap_estimate:.4f}" in text
    checked = fitted(mode="reuse", division={"check_share": 0.3})
    text = Page(render_report(checked)).text
    assert "NOT CERTIFIED" not in text
    assert f"≤ {round_up(checked.certificate_.fairness.gap_bound)}" in text
    assert "count the decisions of the rule" in text
    for count in checked.fitted_.releases["check"].counts.ravel().tolist():
        assert f"{count:,}" in text


def test_odds_show_both_rates_and_a_ratio_shows_a_ratio():
    odds = fitted(rule={"notion": "equalized_odds", "tolerance": 0.02})
    text = Page(render_report(odds)).text
    for name, values in odds.certificate_.fairness.values.items():
        assert f"{name[0].upper()}{name[1:]} of each group" in text
        assert all(f"{value:.1%}" in text for value in values)
    assert "equalized odds: the rule aims at a gap of at most 0.02 by the counts" in text
    ratio = fitted(rule={"notion": "parity_ratio", "tolerance": 0.2, "capacity": 0.4})
    text = Page(render_report(ratio)).text
    assert f"≥ {round_down(1 - ratio.certificate_.fairness.gap_bound)}" in text
    assert "the rule aims at a smallest rate of 0.8 of the largest by the counts" in text
    assert "at most 40.0% of all records" in text


def test_many_groups_show_their_worst_pairs_first():
    names = tuple(f"a rather long name of group {i}" for i in range(8))
    model = fitted(names, rule={"smallest_group": 0})
    text = render_report(model)
    pairs = sorted(model.certificate_.fairness.pairs, key=lambda pair: -pair[2])
    shown = re.findall(r'<td>(0\.\d{4})</td><td class="plot">', text)
    assert shown == [round_up(bound) for _, _, bound in pairs[:15]]
    assert "13 more pairs" in text
    assert Page(render_report(fitted(("a", "b", "c")))).text.count(" more pairs") == 0


def test_every_bound_on_the_gap_is_shown_and_no_other(seeded):
    text = Page(render_report(seeded)).text
    for name in ("C3", "C2", "C1", "paper theorem", "paper proposition (mean)"):
        assert name in text
        assert round_up(seeded.certificate_.fairness.bounds[name]) in text
    assert "utility" not in text


def test_a_seed_cannot_be_overlooked(seeded):
    text = render_report(seeded)
    assert '<div class="banner bad" role="alert">\n<strong>NOT PRIVATE</strong>' in text
    assert text.count("NOT PRIVATE") >= 3
    assert '"tag released"' not in text


def test_a_private_certified_model_carries_no_warning(model):
    text = render_report(model)
    assert "NOT PRIVATE" not in text
    assert "NOT CERTIFIED" not in text
    assert 'class="banner' not in text


def test_intervals_of_the_scorer_alone_are_not_said_to_hold_together():
    text = render_report(fitted(method=Algorithm2))
    assert "All intervals hold together" not in text
    assert "95% confidence; those of the scorer alone hold one by one." in text


def test_a_missing_certificate_cannot_be_overlooked():
    text = render_report(postprocessor(epsilon=1))
    assert "<strong>NOT CERTIFIED</strong>" in text
    assert "None of these bounds is a promise" in text
    assert "group names were read off the data" in text


def test_exact_counts_are_not_private_and_have_no_account():
    text = render_report(postprocessor(held_out=True))
    assert "<strong>NOT PRIVATE</strong>" in text
    assert "Nothing was paid" in text
    assert "NOT CERTIFIED" not in text


def test_every_group_has_its_rows(any_model):
    text = render_report(any_model)
    counted = bool(any_model.fitted_.releases)
    assert ("released no counts" in text) != counted
    claim = any_model.certificate_.fairness
    for name, with_column in zip(claim.groups, claim.group_names, strict=True):
        shown = text.count(f'<th scope="row">{name}</th>')
        shown += text.count(f'<th scope="row">{with_column}</th>')
        assert (shown >= 2) == counted


def test_an_evaluation_is_marked_internal_and_absent_otherwise(model):
    text = Page(render_report(model, EVALUATION)).text
    assert "internal: computed on records without paying; do not publish" in text
    assert "This copy is internal" in text
    for number in ("1,234", "0.8125", "0.0314", "27.1%", "0.0057"):
        assert number in text
    assert "do not publish" not in render_report(model)


def test_write_report_writes_what_is_rendered(model, tmp_path):
    path = write_report(model, str(tmp_path / "report.html"))
    assert path.read_text("utf-8") == render_report(model)
    with pytest.raises(InputError, match="Cannot write the report"):
        write_report(model, tmp_path / "missing" / "report.html")


def test_a_model_without_certificate_is_refused():
    with pytest.raises(InputError, match="Expected a fitted model with a certificate"):
        render_report(PrivateFairClassifier())


def test_scopes_cost_what_the_ledger_charged(model, seeded):
    for fit in (model, seeded):
        claim = fit.certificate_.privacy
        tight = claim.composition == "tight"
        costs = scope_costs(fit.ledger_.entries, claim.relation, tight=tight).values()
        total = max(costs) if tight else sum(costs)
        assert total == pytest.approx(claim.spent, abs=1e-6)


def test_the_page_has_the_rules_of_the_documentation(model):
    docs = Path(dpfair.__file__).parents[2] / "docs" / "certificates.md"
    text, page = docs.read_text(), Page(render_report(model)).text
    for rules in RULES:
        assert f"| {' | '.join(rules.headings)} |" in text
        for row in rules.rows:
            assert f"| {' | '.join(row)} |" in text
            assert all(cell in page for cell in row)
    assert OTHERWISE in page


def test_the_picture_of_other_rules_shows_what_is_certified(model):
    fairness = model.certificate_.fairness
    picture = frontier_of(model).plot
    assert picture.count('class="sure"') == 2  # in the legend, too
    assert "this model, certified" in picture
    estimated = frontier_plot([[(0.0, 0.8)]], (0.0, 0.8), "none")
    assert 'class="sure"' not in estimated
    assert fairness.gap_bound is not None

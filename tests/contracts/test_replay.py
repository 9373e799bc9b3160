"""No method of the catalogue tells more about a record than its noisy answers do."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from itertools import product

import pytest
from contracts.cases import recordings

import dpfair
import dpfair.methods
from dpfair import Algorithm2, FairPostProcessor, PrivateBoosting, PrivateFairClassifier
from dpfair.audit.catalogue import (
    CATALOGUE,
    FirstNumber,
    Method,
    PrivateEvaluation,
    small_model,
)
from dpfair.audit.catalogue.fair import FAIR_METHODS
from dpfair.audit.catalogue.jobs import JOBS
from dpfair.audit.catalogue.training import TRAINING_METHODS
from dpfair.audit.neighbours import COINS
from dpfair.audit.replay import neighbours_of, replay_method
from dpfair.audit.sample import sample_schema
from dpfair.fairness.notions import NOTIONS
from dpfair.learners import LEARNERS
from dpfair.learners.descent import ARITHMETICS
from dpfair.learners.logistic import SOLVERS
from dpfair.methods import METHODS
from dpfair.methods.base import DISCOVER, TRAIN, PrivateClassifier
from dpfair.methods.dp_fermi import method as dp_fermi
from dpfair.methods.dp_fermi.method import DPFermi
from dpfair.methods.logistic_regression import PrivateLogisticRegression
from dpfair.privacy.events import RELATIONS

SCHEMA = sample_schema()

FEWER_TABLES = {method.name for method in CATALOGUE if method.variant_of} - {"certified-odds"}
ENTRY = {method.name: method for method in CATALOGUE}
WRITTEN = (*TRAINING_METHODS, *FAIR_METHODS, *JOBS)


def every(entries):
    return pytest.mark.parametrize("method", entries, ids=[entry.name for entry in entries])


def audit(method, relation, pairs):
    report = replay_method(method, SCHEMA, relation, pairs)
    assert [f"{v.neighbours}: {v.sentence}" for v in report.violations] == []
    assert report.failed == 0, "fits that fail show nothing"
    return report


@every(WRITTEN)
def test_boundary_neighbours_are_not_told_apart(method):
    """Every situation once: half of them by adding or removing, half by replacing.

    The other entries are the methods and learners themselves, of which their contract asks this.

    If only the notion is another, the situations that share a table: it is the first one, thrice.
    """
    asked, touched = set(), set()
    for half, relation in enumerate(RELATIONS):
        most = len(COINS) if method.name in FEWER_TABLES else None
        groups = recordings(
            SCHEMA,
            relation,
            method.rows_per_unit,
            unknown_groups=not method.refuses_unknown_groups,
        )
        pairs = [pair for group in groups[half:most:2] for pair in group]
        report = audit(method, relation, pairs)
        asked, touched = asked | report.asked, touched | report.touched
    assert touched == asked != set(), "no neighbour was in one of the scopes"


@every(CATALOGUE)
@pytest.mark.parametrize("relation", list(RELATIONS))
@pytest.mark.slow
def test_fifty_neighbours_are_not_told_apart(method, relation):
    pairs = neighbours_of(method, SCHEMA, relation, at_least=50, seed=1)
    assert len(pairs) >= 50
    report = audit(method, relation, pairs)
    assert report.touched == report.asked


def test_a_post_processor_of_a_function_takes_nothing_from_the_labels():
    threshold = FirstNumber(SCHEMA).predict

    def make(schema, relation):
        return ENTRY["post-processor"].make(schema, relation).set_params(classifier=threshold)

    method = Method("function", "the paper's rule on top of a function", make)
    pairs = [p for p in neighbours_of(method, SCHEMA, "add_remove") if "repaid" in p.name]
    audit(method, "add_remove", pairs)


@pytest.mark.parametrize("name", ["search", "search-fair"])
def test_a_search_does_not_tell_that_its_fitting_part_is_empty(name):
    pairs = neighbours_of(ENTRY[name], SCHEMA, "add_remove", seed=23)
    audit(ENTRY[name], "add_remove", [p for p in pairs if "the second record" in p.name])


def classifiers():
    """All classes of the package that fit, the bases of others included."""
    found = [getattr(dpfair, name) for name in dpfair.__all__]
    for module in pkgutil.iter_modules(dpfair.methods.__path__):
        found += vars(importlib.import_module(f"dpfair.methods.{module.name}")).values()
    return {item for item in found if inspect.isclass(item) and issubclass(item, PrivateClassifier)}


def test_every_method_is_in_the_catalogue():
    audited = {type(method.make(SCHEMA, "add_remove")) for method in CATALOGUE}
    public = {kind for kind in classifiers() if kind.__name__ in dpfair.__all__}
    named = {*METHODS.values()} | public
    claims_nothing = {kind for kind in METHODS.values() if small_model(kind, SCHEMA).leaks(SCHEMA)}
    assert named - claims_nothing <= audited
    bases = {base for kind in named for base in kind.__mro__[1:]}
    assert classifiers() <= named | bases, (
        "a class that is no row of METHODS, and that nobody audits"
    )


def test_every_learner_is_in_the_catalogue():
    audited = {type(m.make_learner()) for m in models(PrivateFairClassifier)}
    assert {*LEARNERS.values()} <= audited


def models(kind):
    """The models of the catalogue that are of exactly this class."""
    made = [method.make(SCHEMA, "add_remove") for method in CATALOGUE]
    return [model for model in made if type(model) is kind]


def test_every_variant_and_notion_is_in_the_catalogue():
    penalised = {(m.variant, m.notion) for m in models(DPFermi)}
    assert penalised == {*product(set(dp_fermi.VARIANTS) - {"reference"}, dp_fermi.NOTIONS)}
    for learner in (PrivateLogisticRegression, PrivateBoosting):
        assert {m.arithmetic for m in models(learner)} == {*ARITHMETICS}
    assert {m.solver for m in models(PrivateLogisticRegression)} == {*SOLVERS}
    assert {m.public_sizes for m in models(FairPostProcessor)} == {True, False}
    papers = {(m.composition, m.public_sizes) for m in models(Algorithm2)}
    assert papers == {*product(("tight", "basic"), (True, False))}
    monotone = [name for name, notion in NOTIONS.items() if notion.monotone]
    wanted = {*product(["certified"], ["plan decisions count"], NOTIONS)}  # corrected
    wanted |= {*product(["certified"], ["plan count"], monotone)}  # placed
    wanted |= {*product(["reuse"], ["count", "count check"], NOTIONS)}
    assert wanted <= {way(m) for m in models(PrivateFairClassifier)}
    assert {m.model.rule_settings.notion for m in models(PrivateEvaluation)} == {*NOTIONS}


def way(model):
    """How a fair classifier finds its rule: the mode, the tables that it counts, the notion."""
    tables = [
        step.name for step in model.plan().steps if step.name not in (DISCOVER, TRAIN, "values")
    ]
    return model.mode, " ".join(tables), model.rule_settings.notion


def test_every_method_of_the_catalogue_has_a_name_and_a_description():
    assert len({method.name for method in CATALOGUE}) == len(CATALOGUE)
    assert all(method.description and "\n" not in method.description for method in CATALOGUE)

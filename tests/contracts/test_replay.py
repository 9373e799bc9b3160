"""No method of the catalogue tells more about a record than its noisy answers do."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from fractions import Fraction
from functools import wraps
from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import dpfair
import dpfair.methods
from dpfair import FairPostProcessor, PrivateBoosting, PrivateFairClassifier
from dpfair.audit.catalogue import CATALOGUE, FirstNumber, Method, PrivateEvaluation
from dpfair.audit.differences import IGNORED, parts_of
from dpfair.audit.neighbours import COINS
from dpfair.audit.replay import neighbours_of, replay_method
from dpfair.audit.sample import sample_schema
from dpfair.certificate.claims import FairnessClaim
from dpfair.fairness.notions import NOTIONS
from dpfair.learners.descent import ARITHMETICS
from dpfair.learners.logistic import SOLVERS, PrivateLogisticRegression
from dpfair.methods.dp_fermi import method as dp_fermi
from dpfair.methods.dp_fermi.method import DPFermi
from dpfair.methods.search import PrivateSearchCV
from dpfair.privacy.events import RELATIONS

SCHEMA = sample_schema()


@pytest.fixture(scope="module", autouse=True)
def pure_functions_run_once():
    """Rules, certificates and plans are pure: once per set of arguments is enough.

    Arguments are compared by all that they consist of, so a record that reached one of these
    functions would make it run again. Bounds need not be sharp here, either. Without this, most
    of the time would go there.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpfair.fairness.rates._GRID", 20)
        for owner, names in {
            "dpfair.methods.fair_classifier": [
                "best_rule",
                "corrected_rule",
                "placed_rule",
                "planned_rule",
                "planned_rates",
            ],
            "dpfair.evaluation": ["fixed_bound", "fixed_accuracy"],
            "dpfair.learners.logistic": ["calibrate"],
            "dpfair.learners.boosting": ["calibrate_event"],
            "dpfair.methods.dp_fermi.method": ["calibrate"],
        }.items():
            module = importlib.import_module(owner)
            for name in names:
                patch.setattr(module, name, once(getattr(module, name)))
        patch.setattr(PrivateSearchCV, "_plan", once(PrivateSearchCV._plan))
        for name in ("from_release", "from_decision"):
            made = once(getattr(FairnessClaim, name).__func__)
            patch.setattr(FairnessClaim, name, classmethod(made))
        yield


def once(function):
    results = {}

    @wraps(function)
    def remembered(*args, **named):
        key = content((args, named))
        if key not in results:
            with warnings.catch_warnings(record=True) as shown:
                warnings.simplefilter("always")
                results[key] = function(*args, **named), shown
        result, shown = results[key]
        for warning in shown:
            warnings.warn(warning.message, warning.category, stacklevel=2)
        return result

    return remembered


def content(item):
    """All that an object consists of, as something to look up."""
    if isinstance(item, (np.ndarray, np.generic)):
        return item.dtype.str, item.shape, item.tobytes()
    if isinstance(item, IGNORED):
        return "ignored"
    parts = None if isinstance(item, (str, bytes, int, float, type)) else parts_of(item)
    if parts is None:
        return type(item).__name__, repr(item)
    return type(item).__name__, tuple((key, content(part)) for key, part in parts.items())


FEWER_TABLES = {method.name for method in CATALOGUE if method.variant_of} - {"certified-odds"}
METHOD = {method.name: method for method in CATALOGUE}
METHODS = pytest.mark.parametrize("method", CATALOGUE, ids=[m.name for m in CATALOGUE])


def audit(method, relation, pairs):
    report = replay_method(method, SCHEMA, relation, pairs)
    assert [f"{v.neighbours}: {v.sentence}" for v in report.violations] == []
    assert report.failed == 0, "fits that fail show nothing"
    return report


def recordings(method, relation):
    """Neighbours by the recorded run that they share."""
    groups = {}
    for pair in neighbours_of(method, SCHEMA, relation):
        groups.setdefault((id(pair.first), pair.seed), []).append(pair)
    return list(groups.values())


@METHODS
def test_boundary_neighbours_are_not_told_apart(method):
    """Every situation once: half of them by adding or removing, half by replacing.

    If only the notion is another, the situations that share a table: it is the first one, thrice.
    """
    asked, touched = set(), set()
    for half, relation in enumerate(RELATIONS):
        most = len(COINS) if method.name in FEWER_TABLES else None
        pairs = [pair for group in recordings(method, relation)[half:most:2] for pair in group]
        report = audit(method, relation, pairs)
        asked, touched = asked | report.asked, touched | report.touched
    assert touched == asked != set(), "no neighbour was in one of the scopes"


@METHODS
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
        return METHOD["post-processor"].make(schema, relation).set_params(classifier=threshold)

    method = Method("function", "the paper's rule on top of a function", make)
    pairs = [p for p in neighbours_of(method, SCHEMA, "add_remove") if "repaid" in p.name]
    audit(method, "add_remove", pairs)


@pytest.mark.parametrize("name", ["search", "search-fair"])
def test_a_search_does_not_tell_that_its_fitting_part_is_empty(name):
    pairs = neighbours_of(METHOD[name], SCHEMA, "add_remove", seed=23)
    audit(METHOD[name], "add_remove", [p for p in pairs if "the second record" in p.name])


def public_estimators():
    """The estimators of the public names, and those of the published methods."""
    found = {getattr(dpfair, name) for name in dpfair.__all__}
    for module in pkgutil.iter_modules(dpfair.methods.__path__):
        contents = vars(importlib.import_module(f"dpfair.methods.{module.name}"))
        found |= {item for item in contents.values() if inspect.isclass(item)}
    return {item for item in found if inspect.isclass(item) and issubclass(item, BaseEstimator)}


def test_every_estimator_is_in_the_catalogue():
    audited = {type(method.make(SCHEMA, "add_remove")) for method in CATALOGUE}
    missing = public_estimators() - {BaseEstimator} - audited
    assert not missing, f"nobody audits {missing}: give them a line in dpfair/audit/catalogue.py"


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
    fair = models(PrivateFairClassifier)
    papers = {(m.composition, m.public_sizes) for m in fair if m.rule == "algorithm2"}
    assert papers == {*product(("tight", "basic"), (True, False))}
    ways = {
        (m.mode, m.check_share > 0, m._certifies(Fraction(m.epsilon), m.schema), m.notion)
        for m in fair
        if m.rule == "optimal"
    }
    wanted = {*product(["certified"], [False], ["corrected"], NOTIONS)}
    wanted |= {*product(["reuse"], [False, True], ["corrected"], NOTIONS)}
    wanted |= {("certified", False, "placed", n) for n in NOTIONS if NOTIONS[n].monotone}
    assert wanted <= ways
    assert {m.model.notion for m in models(PrivateEvaluation)} == {*NOTIONS}


def test_every_method_of_the_catalogue_has_a_name_and_a_description():
    assert len({method.name for method in CATALOGUE}) == len(CATALOGUE)
    assert all(method.description and "\n" not in method.description for method in CATALOGUE)

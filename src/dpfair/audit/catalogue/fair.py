"""Methods that find a fair rule: every mode, notion and composition of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, cast

from dpfair.audit.catalogue.method import BUDGET, Method, small_model, with_notion
from dpfair.audit.sample import PERSON
from dpfair.data.schema import Schema
from dpfair.fairness.notions import NOTIONS
from dpfair.learners.blocks import BlockLearner
from dpfair.learners.logistic import LogisticLearner
from dpfair.methods.algorithm2 import Algorithm2, paper_algorithm2
from dpfair.methods.division import MODES
from dpfair.methods.fair_classifier import PrivateFairClassifier
from dpfair.methods.post_processor import FairPostProcessor

__all__ = ["FAIR_METHODS", "ROWS_OF_A_PERSON", "SGD", "fair_model"]

ROWS_OF_A_PERSON = 3

# With so many records, certified thresholds are placed, not corrected (division.corrects).
MANY = 150_000

# Fixed noise: calibrating the noise of sampled batches takes a second.
SGD: dict[str, Any] = {"solver": "sgd", "features": "standardised", "noise_multiplier": 8}
SGD |= {"steps": 6, "batch_size": 20, "arithmetic": "float64"}

Maker = Callable[[Schema, str], Any]


def fair_model(schema: Schema, relation: str, **settings: Any) -> PrivateFairClassifier:
    """A fair classifier; settings of its rule and division are given by their short names."""
    model = small_model(PrivateFairClassifier, schema, relation)
    known = model.get_params()
    named = {
        next(key for key in known if key == name or key.endswith(f"__{name}")): value
        for name, value in ({"smallest_group": 4} | settings).items()
    }
    return cast(PrivateFairClassifier, model.set_params(**named))


def _fair(**settings: Any) -> Maker:
    return lambda schema, relation: fair_model(schema, relation, **settings)


def _algorithm2(**settings: Any) -> Maker:
    return lambda schema, relation: small_model(Algorithm2, schema, relation, **settings)


def _paper(schema: Schema, relation: str) -> Any:
    model = paper_algorithm2(BUDGET, 1e-5, schema=schema, release_epsilon=0.5)
    return model.set_params(relation=relation, learner=LogisticLearner(**SGD))


def _post_processor(**settings: Any) -> Maker:
    return lambda schema, relation: small_model(FairPostProcessor, schema, relation, **settings)


def _intersection(schema: Schema, relation: str) -> Any:
    assert schema.sensitive is not None
    columns = [*schema.sensitive.column_names, schema.categorical[-1].name]
    settings = {"sensitive": list(dict.fromkeys(columns)), "tolerance": 0.1, "mode": "reuse"}
    return fair_model(schema, relation, **settings)


def _notions(
    name: str, description: str, names: Iterable[str] = NOTIONS, rows: int | None = None, **how: Any
) -> Iterator[Method]:
    """Entries of one method with each of these notions."""
    for notion in names:

        def make(schema: Schema, relation: str, notion: str = notion) -> Any:
            schema = schema if rows is None else replace(schema, rows=rows)
            tolerance = 0.0 if notion == "demographic_parity" else 0.1
            return fair_model(schema, relation, notion=notion, tolerance=tolerance, **how)

        yield with_notion(name, description, notion, make)


def _discovering(name: str, description: str, **settings: Any) -> Iterator[Method]:
    """Entries of both modes, with a budget that names values of a small table."""
    rows_per_unit = settings.get("rows_per_unit", 1)
    # With a larger delta per record, noise alone would name a value of one person in some replays.
    delta = 1e-4 if rows_per_unit == 1 else 0.3
    settings |= {"epsilon": 40.0, "delta": delta, "discovery_share": 0.6}
    for mode in MODES:

        def make(schema: Schema, relation: str, mode: str = mode) -> Any:
            return fair_model(schema.kinds_only(), relation, mode=mode, **settings)

        yield Method(f"{name}-{mode}", description, make, rows_per_unit=rows_per_unit)


FAIR_METHODS = (
    *_notions("certified", "A planned rule corrected on records of its own"),
    *_notions(
        "placed",
        "Thresholds placed on records of their own",
        [name for name, notion in NOTIONS.items() if notion.monotone],
        rows=MANY,
    ),
    Method(
        "certified-undeclared-rows",
        "A certified rule for records of whom nobody knows how many there are",
        lambda schema, relation: fair_model(replace(schema, rows=None), relation),
    ),
    *_notions("reuse", "All records train and are counted", mode="reuse"),
    *_notions(
        "reuse-check",
        "All records train and are counted, a third part checks the rule",
        mode="reuse",
        check_share=0.4,
    ),
    Method(
        "reuse-blocks-unused",
        "All records train a learner of blocks that finds none, and are counted",
        # Pairs of a table that is declared small are not screened.
        lambda schema, relation: fair_model(
            replace(schema, rows=None),
            relation,
            mode="reuse",
            learner=BlockLearner(steps=3, draws=10, evidence=100.0),
        ),
    ),
    Method(
        "certified-values",
        "A certified rule, and a count of irregular values",
        _fair(values_epsilon=0.2),
    ),
    Method(
        "reuse-values",
        "All records train and are counted, irregular values, too",
        _fair(mode="reuse", values_epsilon=0.2),
    ),
    *_discovering(
        "discovery",
        "Bins, usual values and categories found in the records that train",
    ),
    *_discovering(
        "discovery-persons",
        "The same for persons with several records each",
        unit=PERSON,
        rows_per_unit=ROWS_OF_A_PERSON,
    ),
    Method(
        "certified-persons",
        "Persons with several records each",
        _fair(unit=PERSON, rows_per_unit=ROWS_OF_A_PERSON),
        rows_per_unit=ROWS_OF_A_PERSON,
    ),
    Method("intersection", "Groups by two columns", _intersection),
    Method("algorithm2", "The paper's rule with private group sizes", _algorithm2()),
    Method(
        "algorithm2-basic",
        "The paper's rule with private group sizes, costs added up",
        _algorithm2(composition="basic"),
    ),
    Method(
        "algorithm2-sizes",
        "The paper's rule with public group sizes",
        _algorithm2(public_sizes=True),
    ),
    Method("algorithm2-paper", "The paper's experiment: DP-SGD, public sizes, sums", _paper),
    Method("post-processor", "The paper's rule on top of a public classifier", _post_processor()),
    Method(
        "post-processor-sizes",
        "The same with public group sizes",
        _post_processor(public_sizes=True),
    ),
)

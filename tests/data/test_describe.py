"""A schema in words: the certificate's phrase, the report's rows, the documentation."""

import re
from pathlib import Path

import pytest
from sample_tables import PEOPLE

from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.describe import fact_rows, facts_phrase, facts_tables, found_phrases
from dpfair.data.schema import Schema

PAGE = Path(__file__).parents[2] / "docs" / "schema.md"
LABEL = PEOPLE["label"]
AGE = {"name": "age", "kind": "numeric", "bounds": [18, 100]}
JOB = {"name": "job", "kind": "categorical", "values": ["a", "b"]}


def schema(*columns, **facts):
    return Schema.from_dict({"label": LABEL, "columns": columns} | facts)


@pytest.mark.parametrize(
    ("declared", "kinds"),
    [
        (schema(AGE), "bounds, bin edges"),
        (schema(JOB), "categories"),
        (schema(JOB, AGE), "bounds, categories, bin edges"),
        (schema(JOB | {"usual": "a"}), "categories, usual values"),
        (
            schema(AGE | {"spiky": True}, JOB | {"usual": "a"}),
            "bounds, categories, bin edges, usual values, spiky columns",
        ),
        (
            schema(AGE | {"usual": 40, "spiky": True}, JOB, crosses=[["age", "job"]], rows=9),
            "bounds, categories, bin edges, usual values, spiky columns, crosses",
        ),
        (schema(AGE | {"center": 40, "scale": 2, "edges": []}), "bounds, bin edges"),
    ],
)
def test_phrase_of_the_certificate(declared, kinds):
    assert facts_phrase(declared) == f"the schema ({kinds}, label values, groups)"


EVERYTHING = schema(
    AGE | {"center": 40, "scale": 12.5, "edges": [20, 30.5], "usual": 40, "spiky": True},
    JOB | {"usual": "a"},
    rows=1000,
    crosses=[["age", "job"]],
    sensitive={"name": "sex", "values": ["f", "m"]},
    reviewed=False,
    file={"delimiter": "\t", "decimal": ","},
)


def test_all_facts_are_listed_for_an_unknown_encoding():
    assert fact_rows(EVERYTHING) == [
        ("all columns", "size", "1,000 records"),
        ("age x job", "cross", "one cell for every combination"),
        ("all columns", "source", "read off the data and not reviewed, which is not private"),
        ("all columns", "file", "cells are separated by a tab; decimals after a comma"),
        ("repaid", "label", "no, yes"),
        ("sex", "groups", "f, m"),
        (
            *("age", "numeric"),
            "18 to 100; center 40; scale 12.5; usual value 40; cut points 20, 30.5; "
            "spiky: exact values have cells",
        ),
        ("job", "categorical", "2 categories: a, b; usual value a"),
    ]


@pytest.mark.parametrize(
    ("encodings", "unused"),
    [
        ({"binned"}, {"center", "scale"}),
        ({"standardised"}, {"usual", "cut", "spiky:", "one"}),
        ({"standardised", "trees"}, {"usual", "spiky:", "one"}),
    ],
)
def test_declared_facts_that_are_not_used_are_marked(encodings, unused):
    listed = [text for *_, facts in fact_rows(EVERYTHING, encodings) for text in facts.split("; ")]
    marked = {text.split(" ")[0] for text in listed if text.endswith(" (declared, not used)")}
    assert marked == unused
    assert len(listed) == 15


def test_found_facts_are_not_called_declared_and_only_what_is_true_is_listed():
    found = Numeric(
        "debt", (0, 9), 2, 1, (3,), spiky=False, found=("center", "scale", "edges", "spiky")
    )
    described = fact_rows(Schema((found,), Levels("y", ("0", "1"))), {"binned"})
    assert described[-1][2] == (
        "0 to 9; center 2 (found privately, not used); scale 1 (found privately, not used); "
        "cut points 3 (found privately)"
    )


def test_columns_without_edges_or_categories_are_not_counted_as_found():
    one = Numeric("a", (0, 9), edges=(3,), found=("edges",))
    none = Numeric("b", (0, 9), edges=(), found=("edges",))
    words = Categorical("c", found=("values",))
    schema = Schema((one, none, words), Levels("y", ("0", "1")))
    assert found_phrases(schema) == (
        "bin edges of 1 of 2 columns (none can be seen in the others)",
        "categories of none of 1 column (none can be seen)",
    )
    rows = {name: facts for name, _, facts in fact_rows(schema)}
    assert rows["b"].endswith("no cut points (found privately)")
    assert rows["c"] == "no categories (found privately)"


def test_derived_facts_are_listed_where_they_are_used():
    assert fact_rows(schema(AGE), {"standardised"})[-1][2] == "18 to 100; center 59; scale 41"
    cuts = "cut points 26.2, 34.4, 42.6, 50.8, 59, 67.2, 75.4, 83.6, 91.8"
    assert fact_rows(schema(AGE), {"binned"})[-1][2] == f"18 to 100; {cuts}"
    assert fact_rows(schema(AGE | {"edges": []}), {"trees"})[-1][2] == "18 to 100; no cut points"


def test_groups_of_several_columns_are_listed():
    home = {"name": "home", "kind": "categorical", "values": ["own", "rent"]}
    both = schema(JOB, home, sensitive={"columns": ["job", "home"]})
    assert ("job x home", "groups", "a, own, a, rent, b, own, b, rent") in fact_rows(both)


def test_the_documentation_has_the_tables_of_facts():
    """``python scripts/schema_doc.py`` writes them."""
    assert PAGE.read_text(encoding="utf-8").endswith(f"\n\n{facts_tables()}")


def test_the_example_of_the_documentation_is_a_schema():
    example, file = re.findall("```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert Schema.from_toml(example).groups == ("f", "m")
    assert Schema.from_toml(f"{example}\n{file}").file.thousands == "."

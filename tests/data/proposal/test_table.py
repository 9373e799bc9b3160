"""A proposal for a whole table, and the file that a person finishes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpfair.data.columns import Categorical, Numeric
from dpfair.data.file_form import FileForm
from dpfair.data.proposal import LeftOut, propose
from dpfair.data.proposal.leaving_out import CONSTANT, GIVES_AWAY, IDENTIFIER
from dpfair.data.schema import Schema
from dpfair.errors import SchemaError

N = 600


def bank(**more):
    """A table as another country's bank would write it, all cells as text."""
    rng = np.random.default_rng(7)
    repaid = rng.choice(["nein", "ja"], N)
    columns = {
        "id": [str(1000 + i) for i in range(N)],
        "betrag": [f"{1 + i % 9}.{i % 10}00,50" for i in range(N)],
        "zins": [f"{i % 40},{i % 10}" for i in range(N)],
        "geboren": [f"{1 + i % 28:02}.{1 + i % 12:02}.{1950 + i % 50}" for i in range(N)],
        "land": ["DE"] * N,
        "kinder": [str(rng.integers(0, 6)) if i % 10 else "-9" for i in range(N)],
        "sex": rng.choice(["f", "m"], N).tolist(),
        "mahnung": ["1" if r == "nein" else "0" for r in repaid],
        "zurückgezahlt": repaid.tolist(),
    }
    return pl.DataFrame(columns | more)


def test_a_table_of_another_country():
    proposal = propose(bank(), label="zurückgezahlt", sensitive="sex", accept="ja")
    schema = proposal.schema
    assert not schema.reviewed
    assert schema.file == FileForm(decimal=",", thousands=".")
    assert schema.label.values == ("nein", "ja")
    assert schema.groups == ("f", "m")
    assert schema.columns == (
        Numeric("betrag", (1000, 10000)),
        Numeric("zins", (0, 40)),
        Numeric("geboren", ("1950-01-01", "2000-01-01"), date="%d.%m.%Y"),
        Numeric("kinder", (0, 5), missing=(-9,)),
    )
    assert proposal.left_out == (
        LeftOut("id", IDENTIFIER),
        LeftOut("land", CONSTANT),
        LeftOut("mahnung", GIVES_AWAY),
    )


def test_no_fitted_edges_or_centers_are_proposed():
    """They would be further facts that only the data can tell."""
    for column in propose(bank(), label="zurückgezahlt", sensitive="sex").schema.numeric:
        assert (column.edges, column.center, column.scale, column.usual) == (None,) * 4


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, lambda t: t])
def test_any_container(convert):
    proposal = propose(convert(bank()), label="zurückgezahlt", sensitive="sex")
    assert len(proposal.schema.columns) == 4


def test_typed_columns():
    table = pd.DataFrame(
        {
            "day": pd.date_range("2020-01-01", periods=N),
            "n": pd.array(np.arange(N) % 50, dtype="Int64"),
            "flag": np.arange(N) % 2 == 0,
            "sex": ["f", "m", "m"] * (N // 3),
            "y": np.arange(N) // 7 % 2,
        }
    )
    schema = propose(table, label="y", sensitive="sex").schema
    assert schema.columns == (
        Numeric("day", ("2020-01-01", "2022-01-01"), date="%Y-%m-%d"),
        Numeric("n", (0, 50)),
        Categorical("flag", ("false", "true")),
    )


def test_the_file_is_the_schema_with_comments():
    proposal = propose(bank(), label="zurückgezahlt", sensitive="sex")
    text = proposal.to_toml("bank.csv")
    again = Schema.from_toml(text)
    assert again == proposal.schema
    assert not again.reviewed
    assert Schema.from_toml(text.replace("reviewed = false", "reviewed = true")).reviewed
    assert text.startswith("# A proposed schema for bank.csv")
    assert "NOT private" in text
    assert "ASSUMED, PLEASE CHECK" in text
    assert "\n#   like an identifier: id\n" in text
    assert "bounds = [1000, 10000]  # read off the data\n" in text
    assert max(map(len, text.splitlines())) <= 100


def test_kinds_only_leaves_out_what_only_the_data_says():
    proposal = propose(bank(job=["a", "b"] * (N // 2)), label="zurückgezahlt", sensitive="sex")
    text = proposal.to_toml(kinds_only=True)
    columns = text[text.index("[[columns]]") :]
    assert "bounds" not in columns
    assert "values = " not in columns
    assert columns.count("kind = ") == 5
    assert 'date = "%d.%m.%Y"' in text
    assert 'decimal = ","' in text
    assert 'values = ["f", "m"]' in text


def test_a_wide_table_stays_readable():
    rng = np.random.default_rng(0)
    wide = {f"number {i}": rng.integers(0, 900, N) for i in range(200)}
    wide |= {f"constant {i}": [1] * N for i in range(200)}
    text = propose(bank(**wide), label="zurückgezahlt", sensitive="sex").to_toml()
    left = text[text.index("# Left out") : text.index("[[columns]]")]
    assert len(left.splitlines()) < 60
    assert "constant 199" in left
    assert len(text.splitlines()) < 204 * 5 + 100


def test_names_cannot_break_the_file():
    odd = 'a"b\nreviewed = true\n#\x01\x7f'
    table = bank(**{odd: ["x"] * N, odd + "2": ['v"\n', "w\x7f"] * (N // 2)})
    proposal = propose(table, label="zurückgezahlt", sensitive="sex")
    again = Schema.from_toml(proposal.to_toml(odd))
    assert again == proposal.schema
    assert not again.reviewed


def test_a_label_of_many_values_keeps_two_and_says_so():
    states = ["paid", "default", "open", "open"] * (N // 4)
    proposal = propose(bank(state=states), label="state", sensitive="sex")
    assert proposal.schema.label.values == ("default", "paid")
    assert proposal.other_labels == {"open": N // 2}
    assert any("open (300)" in note for note in proposal.notes)
    assert "PLEASE CHECK: records with another value are not used: 'open'" in proposal.to_toml()


@pytest.mark.parametrize("accept", [None, "rent"])
def test_a_label_of_many_values_without_an_opposite_is_refused(accept):
    homes = ["rent", "own", "own", "parents"] * (N // 4)
    with pytest.raises(SchemaError, match=r"has 3 different values .* such as whether home is"):
        propose(bank(home=homes), label="home", sensitive="sex", accept=accept)


def test_misspelt_labels_are_left_out():
    answers = ["rent", "own"] * (N // 2 - 1) + ["ownn", "rent"]
    proposal = propose(bank(home=answers), label="home", sensitive="sex", accept="own")
    assert proposal.schema.label.values == ("rent", "own")
    assert proposal.other_labels == {"ownn": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "betrag"}, "different values .*; a label has two"),
        ({"label": "land"}, r"has 1 different values \(DE\)"),
        ({"label": "Sex"}, "Did you mean 'sex'"),
        ({"sensitive": "id"}, "expected 2 to 100 groups"),
        ({"sensitive": "none"}, "no column 'none'; it has id, betrag"),
    ],
)
def test_errors_say_what_is_there(options, message):
    how = {"label": "zurückgezahlt", "sensitive": "sex"} | options
    with pytest.raises(SchemaError, match=message):
        propose(bank(), **how)


def test_groups_of_several_columns():
    table = bank(job=["a", "b", "b"] * (N // 3))
    proposal = propose(table, label="zurückgezahlt", sensitive=["sex", "job"])
    assert proposal.schema.groups == ("f, a", "f, b", "m, a", "m, b")
    assert Schema.from_toml(proposal.to_toml()) == proposal.schema


def test_small_groups_and_missing_ones_are_noted():
    sex = ["f"] * 500 + ["x"] * 5 + [None] * 95
    notes = propose(bank(sex=sex), label="zurückgezahlt", sensitive="sex").notes
    assert "Groups of 'sex' with few records: x (5)." in notes
    assert "95 records have no value of 'sex', and are not used." in notes


def test_a_file_without_a_header_is_noted():
    table = bank().rename({name: str(i) for i, name in enumerate(bank().columns)})
    assert any("needs a header" in note for note in propose(table, label="8", sensitive="6").notes)


def test_the_schema_class_proposes():
    proposal = Schema.propose(bank(), label="zurückgezahlt", sensitive="sex", accept="nein")
    assert proposal.schema.label.values == ("ja", "nein")


def test_the_notes_say_what_was_chosen_for_a_person():
    notes = Schema.propose(bank(), label="zurückgezahlt", sensitive="sex").notes
    assert any("ASSUMED: zurückgezahlt = nein means accepted: " in note for note in notes)
    assert any(note.startswith("left out (") and "id" in note for note in notes)


def test_the_size_is_proposed_but_not_stated():
    text = propose(bank(), label="zurückgezahlt", sensitive="sex").to_toml()
    assert f"\n# rows = {N}  # read off the data\n" in text
    assert Schema.from_toml(text).rows is None
    assert Schema.from_toml(text.replace("# rows =", "rows =")).rows == N

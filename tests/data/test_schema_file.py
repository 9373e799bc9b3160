"""A schema survives any round trip, and a wrong file is refused in one sentence."""

import copy
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_tables import PEOPLE

from dpfair.data.columns import MAX_CATEGORIES, Categorical, Levels, Numeric
from dpfair.data.file_form import FileForm
from dpfair.data.schema import Schema
from dpfair.data.text import plain_text
from dpfair.errors import SchemaError

# No lone surrogates: they are not text that any file could hold.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


finite = st.floats(-1e300, 1e300, allow_nan=False)


@st.composite
def numerics(draw, name):
    low, high = sorted(draw(st.lists(finite, min_size=2, max_size=2, unique=True)))
    return Numeric(
        name,
        (low, high),
        center=draw(st.none() | finite),
        scale=draw(st.none() | st.floats(1e-300, 1e300)),
        edges=draw(st.none() | st.lists(finite, max_size=4, unique=True).map(sorted).map(tuple)),
        usual=draw(st.none() | st.sampled_from([low, high])),
        spiky=draw(st.booleans()),
        date=draw(st.none() | st.sampled_from(["%d.%m.%Y", "%y%m%d"])),
        missing=tuple(draw(st.lists(finite | st.just(-999), max_size=2))),
    )


@st.composite
def categoricals(draw, name):
    values = draw(st.lists(texts, min_size=2, max_size=4, unique_by=plain_text).map(tuple))
    marks = draw(st.lists(texts, max_size=2, unique_by=plain_text))
    missing = tuple(mark for mark in marks if plain_text(mark) not in map(plain_text, values))
    usual = draw(st.none() | st.sampled_from(values))
    return Categorical(name, values, usual, draw(st.booleans()), missing)


files = st.builds(
    FileForm,
    delimiter=st.none() | st.sampled_from(",;\t|:^ "),
    encoding=st.sampled_from(["utf-8", "latin1", "windows-1252", "utf-16"]),
    decimal=st.sampled_from(".,"),
    thousands=st.sampled_from(["", " ", "'"]),
)


@st.composite
def schemas(draw):
    names = draw(st.lists(texts, min_size=3, max_size=6, unique=True))
    words = st.lists(texts, min_size=2, max_size=4, unique=True).map(tuple)
    columns = [
        draw(numerics(name) if draw(st.booleans()) else categoricals(name)) for name in names[2:]
    ]
    crosses = st.lists(st.sampled_from(names[2:]), min_size=2, max_size=4, unique=True).map(tuple)
    many = len(columns) > 1
    return Schema(
        tuple(columns),
        Levels(names[0], draw(st.lists(texts, min_size=2, max_size=2, unique=True).map(tuple))),
        sensitive=Levels(names[1], draw(words)) if draw(st.booleans()) else None,
        rows=draw(st.none() | st.integers(1, 10**12)),
        crosses=tuple(draw(st.lists(crosses, max_size=2, unique=True))) if many else (),
        reviewed=draw(st.booleans()),
        file=draw(files),
    )


@settings(max_examples=150, deadline=None)
@given(schemas())
def test_round_trips(schema):
    for again in (
        Schema.from_dict(schema.to_dict()),
        Schema.from_toml(schema.to_toml()),
        Schema.from_dict(json.loads(json.dumps(schema.to_dict(), allow_nan=False))),
    ):
        assert again == schema
        assert again.reviewed == schema.reviewed


@pytest.mark.parametrize(
    "name", ["a\x7fb", "😀", "é", 'quote"', "back\\slash", "line\nbreak", "\0", ""], ids=ascii
)
def test_names_of_any_kind_survive_a_file(name, tmp_path):
    """A pair of surrogate escapes, as JSON writes emoji, is not valid TOML."""
    schema = Schema((Categorical(name, (name, "b")),), Levels("y", ("0", "1")))
    toml, data = tmp_path / "s.toml", tmp_path / "s.json"
    toml.write_text(schema.to_toml(), encoding="utf-8", newline="")
    data.write_text(json.dumps(schema.to_dict()), encoding="utf-8")
    assert Schema.load(toml) == Schema.load(str(data)) == schema


def test_good_values():
    schema = Schema.from_dict(PEOPLE)
    assert schema.rows == 1000
    assert schema.groups == ("f", "m", "x")
    assert schema.numeric == (Numeric("age", (18, 100), 40, 12.5, (20, 30.5, 60)),)
    assert schema.categorical == (Categorical("job", ("a", "b")),)
    assert schema.reviewed
    assert Schema.from_dict({k: v for k, v in PEOPLE.items() if k != "sensitive"}).groups == (
        "everybody",
    )


def test_numbers_are_words():
    outcome = Schema.from_dict(PEOPLE | {"label": {"name": "y", "values": [0, 1.0]}}).label
    assert outcome.values == ("0", "1")


def changed(path, value):
    data = json.loads(json.dumps(PEOPLE))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


def five_columns(crosses, edges=2):
    names = ["a", "b", "c", "d", "e"]
    return {
        "label": PEOPLE["label"],
        "crosses": crosses,
        "columns": [
            {"name": n, "kind": "numeric", "bounds": [0, 1], "edges": list(range(edges))}
            for n in names
        ],
    }


AGE, JOB = ("columns", 0), ("columns", 1)
MALFORMED = {
    "a list": [],
    "text": "schema",
    "nothing": None,
    "number": 3,
    "empty": {},
    "unknown entry": PEOPLE | {"color": "red"},
    "entries of two types": PEOPLE | {1: 2, "color": 3},
    "no label": {k: v for k, v in PEOPLE.items() if k != "label"},
    "no columns": {k: v for k, v in PEOPLE.items() if k != "columns"},
    "label is text": PEOPLE | {"label": "y"},
    "label is null": PEOPLE | {"label": None},
    "label without name": PEOPLE | {"label": {"values": [0, 1]}},
    "label with one value": changed(("label", "values"), ["no"]),
    "label with three values": changed(("label", "values"), ["no", "yes", "maybe"]),
    "label with equal values": changed(("label", "values"), ["1", 1.0]),
    "label values are text": changed(("label", "values"), "ny"),
    "label values are null": changed(("label", "values"), None),
    "label with a list inside": changed(("label", "values"), ["no", ["yes"]]),
    "label with null": changed(("label", "values"), ["no", None]),
    "label with NaN": changed(("label", "values"), ["no", math.nan]),
    "unknown entry in label": PEOPLE | {"label": {"name": "y", "values": [0, 1], "positive": 1}},
    "one group": changed(("sensitive", "values"), ["f"]),
    "name twice": changed(("sensitive", "name"), "age"),
    "label as a feature": changed(("label", "name"), "job"),
    "rows of zero": PEOPLE | {"rows": 0},
    "negative rows": PEOPLE | {"rows": -5},
    "infinite rows": PEOPLE | {"rows": math.inf},
    "NaN rows": PEOPLE | {"rows": math.nan},
    "half a row": PEOPLE | {"rows": 10.5},
    "rows as text": PEOPLE | {"rows": "1000"},
    "rows as bool": PEOPLE | {"rows": True},
    "reviewed as text": PEOPLE | {"reviewed": "no"},
    "inferred, the former name": PEOPLE | {"inferred": True},
    "columns is null": PEOPLE | {"columns": None},
    "columns is empty": PEOPLE | {"columns": []},
    "columns is a dict": PEOPLE | {"columns": {"age": {}}},
    "column is text": PEOPLE | {"columns": ["age"]},
    "column without kind": PEOPLE | {"columns": [{"name": "age", "bounds": [0, 1]}]},
    "column of unknown kind": changed((*AGE, "kind"), "text"),
    "kind is a list": changed((*AGE, "kind"), ["numeric"]),
    "name is a list": changed((*AGE, "name"), ["age"]),
    "name is null": changed((*AGE, "name"), None),
    "unknown entry in column": changed((*AGE, "values"), ["a"]),
    "bounds null": changed((*AGE, "bounds"), None),
    "bounds text": changed((*AGE, "bounds"), "09"),
    "bounds of text": changed((*AGE, "bounds"), ["0", "1"]),
    "one bound": changed((*AGE, "bounds"), [0]),
    "three bounds": changed((*AGE, "bounds"), [0, 1, 2]),
    "bounds reversed": changed((*AGE, "bounds"), [1, 0]),
    "bounds equal": changed((*AGE, "bounds"), [1, 1]),
    "bounds NaN": changed((*AGE, "bounds"), [math.nan, 1]),
    "bounds infinite": changed((*AGE, "bounds"), [0, math.inf]),
    "bounds beyond floats": changed((*AGE, "bounds"), [0, 10**400]),
    "width beyond floats": changed((*AGE, "bounds"), [-1.7e308, 1.7e308]),
    "scale of zero": changed((*AGE, "scale"), 0),
    "negative scale": changed((*AGE, "scale"), -1),
    "scale NaN": changed((*AGE, "scale"), math.nan),
    "scale null": changed((*AGE, "scale"), None),
    "center infinite": changed((*AGE, "center"), math.inf),
    "center as text": changed((*AGE, "center"), "40"),
    "edges decreasing": changed((*AGE, "edges"), [3, 2]),
    "edges repeated": changed((*AGE, "edges"), [3, 3]),
    "edges NaN": changed((*AGE, "edges"), [3, math.nan]),
    "edges as a number": changed((*AGE, "edges"), 3),
    "values text": changed((*JOB, "values"), "abc"),
    "values a dict": changed((*JOB, "values"), {"a": 1}),
    "values repeated": changed((*JOB, "values"), ["a", "a"]),
    "too many values": changed((*JOB, "values"), list(range(MAX_CATEGORIES + 1))),
    "usual not in values": changed((*JOB, "usual"), "c"),
    "usual word null": changed((*JOB, "usual"), None),
    "usual word a list": changed((*JOB, "usual"), ["a"]),
    "usual outside the bounds": changed((*AGE, "usual"), -1e9),
    "usual NaN": changed((*AGE, "usual"), math.nan),
    "usual infinite": changed((*AGE, "usual"), math.inf),
    "usual number as text": changed((*AGE, "usual"), "0"),
    "usual number as bool": changed((*AGE, "usual"), True),
    "usual number null": changed((*AGE, "usual"), None),
    "spiky as text": changed((*AGE, "spiky"), "yes"),
    "spiky as number": changed((*AGE, "spiky"), 1),
    "spiky words": changed((*JOB, "spiky"), True),
    "date without a year": changed((*AGE, "date"), "%d.%m."),
    "date of an unknown form": changed((*AGE, "date"), "%Y %Q"),
    "date twice": changed((*AGE, "date"), "%Y %Y"),
    "date as a number": changed((*AGE, "date"), 2020),
    "date too long": changed((*AGE, "date"), "%Y" + "-" * 100),
    "dates in a column of numbers": changed((*AGE, "bounds"), ["1990-01-01", "2000-01-01"]),
    "missing as a number": changed((*AGE, "missing"), -999),
    "missing as text": changed((*AGE, "missing"), ["-999"]),
    "missing infinite": changed((*AGE, "missing"), [math.inf]),
    "missing among the values": changed((*JOB, "missing"), ["a"]),
    "file as text": PEOPLE | {"file": ";"},
    "file null": PEOPLE | {"file": None},
    "unknown entry in file": PEOPLE | {"file": {"quote": "'"}},
    "a long delimiter": PEOPLE | {"file": {"delimiter": ";;"}},
    "a letter as delimiter": PEOPLE | {"file": {"delimiter": "x"}},
    "a quote as delimiter": PEOPLE | {"file": {"delimiter": '"'}},
    "a newline as delimiter": PEOPLE | {"file": {"delimiter": "\n"}},
    "delimiter null": PEOPLE | {"file": {"delimiter": None}},
    "an encoding that is none": PEOPLE | {"file": {"encoding": "rot13"}},
    "an encoding that may fail": PEOPLE | {"file": {"encoding": "idna"}},
    "an unknown encoding": PEOPLE | {"file": {"encoding": "klingon\0"}},
    "a letter as decimal mark": PEOPLE | {"file": {"decimal": "x"}},
    "thousands like decimals": PEOPLE | {"file": {"thousands": "."}},
    "crosses null": PEOPLE | {"crosses": None},
    "crosses as text": PEOPLE | {"crosses": "age job"},
    "a cross as text": PEOPLE | {"crosses": ["age job"]},
    "cross of one column": PEOPLE | {"crosses": [["age"]]},
    "cross of nothing": PEOPLE | {"crosses": [[]]},
    "cross of an unknown column": PEOPLE | {"crosses": [["age", "color"]]},
    "cross with the label": PEOPLE | {"crosses": [["age", "repaid"]]},
    "cross of a column with itself": PEOPLE | {"crosses": [["age", "age"]]},
    "cross with a list": PEOPLE | {"crosses": [["age", ["job"]]]},
    "cross of five columns": five_columns([["a", "b", "c", "d", "e"]]),
    "the same cross twice": PEOPLE | {"crosses": [["age", "job"], ["age", "job"]]},
    "a cross beyond whole numbers": five_columns([["a", "b", "c", "d"]], 10**5),
    "groups of one column": PEOPLE | {"sensitive": {"columns": ["job"]}},
    "groups of no column": PEOPLE | {"sensitive": {"columns": []}},
    "groups of a numeric column": PEOPLE | {"sensitive": {"columns": ["job", "age"]}},
    "groups of an unknown column": PEOPLE | {"sensitive": {"columns": ["job", "sex"]}},
    "groups of one column twice": PEOPLE | {"sensitive": {"columns": ["job", "job"]}},
    "groups of columns as text": PEOPLE | {"sensitive": {"columns": "job"}},
    "groups with columns and values": PEOPLE
    | {"sensitive": {"columns": ["job", "sex"], "values": ["f", "m"]}},
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_schemas_are_refused_in_one_sentence(data):
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(data)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert len(message) < 200


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((*AGE, "center"), "40", "Expected a number in the entry 'center'."),
        ((*AGE, "edges"), [20, "30"], "Expected a number in the entry 'edges'."),
        ((*AGE, "bounds"), "09", "Expected a list in the entry 'bounds'."),
        ((*AGE, "bounds"), [0], "Column 'age' needs finite bounds [low, high], low < high."),
        ((*AGE, "spiky"), 1, "The entry 'spiky' must be true or false."),
        ((*AGE, "color"), 1, "Unknown entry 'color' in age."),
        ((*AGE, "kind"), "x", "Column 'age' must be of kind numeric or categorical, got 'x'."),
        (("label",), {"name": "y"}, "The schema lacks 'values'."),
    ],
)
def test_errors_name_the_entry(path, value, message):
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(changed(path, value))
    assert str(caught.value) == message


json_like = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


paths = st.sampled_from(
    [
        ("rows",), ("reviewed",), ("file",), ("label",), ("sensitive",), ("columns",),
        ("label", "name"), (*AGE, "date"), (*AGE, "missing"), (*JOB, "missing"),
        ("label", "values"), ("columns", 0), (*AGE, "kind"), (*AGE, "name"), (*AGE, "bounds"),
        (*AGE, "center"), (*AGE, "scale"), (*AGE, "edges"), (*JOB, "values"), ("crosses",),
        (*AGE, "usual"), (*AGE, "spiky"), (*JOB, "usual"), ("sensitive", "columns"),
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(paths, json_like)
def test_anything_in_any_place_is_a_schema_or_a_schema_error(path, value):
    try:
        schema = Schema.from_dict(changed(path, value))
    except SchemaError:
        return
    assert Schema.from_dict(schema.to_dict()) == schema


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.toml", "label = "),
        ("s.toml", "rows = inf\n" + Schema.from_dict(PEOPLE).to_toml().split("\n", 1)[1]),
        ("s.toml", "a = " + "[" * 100_000),
        ("s.toml", ""),
        ("s.json", "{"),
        ("s.json", "[" * 1_000_000),
        ("s.json", "null"),
        ("s.json", '{"rows": NaN}'),
        ("s.toml", b"\xff\xfe"),
    ],
)
def test_unreadable_files_are_refused(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SchemaError) as caught:
        Schema.load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(SchemaError):
        Schema.load(tmp_path / "missing.toml")
    with pytest.raises(SchemaError):
        Schema.load(tmp_path)


EVERYTHING = {
    "label": PEOPLE["label"],
    "sensitive": {"columns": ["sex", "job"]},
    "crosses": [["age", "job"], ["sex", "age", "job"]],
    "columns": [
        {"name": "age", "kind": "numeric", "bounds": [18, 100], "usual": 40, "spiky": True},
        {"name": "job", "kind": "categorical", "values": ["1", "b"], "usual": 1.0},
        {"name": "sex", "kind": "categorical", "values": ["f", "m"]},
    ],
}


def test_usual_spiky_crosses_and_intersections_survive_files(tmp_path):
    schema = Schema.from_dict(EVERYTHING)
    assert schema.numeric[0].usual == 40
    assert schema.numeric[0].spiky
    assert schema.categorical[0].usual == "1"  # numbers are words
    assert schema.crosses == (("age", "job"), ("sex", "age", "job"))
    assert schema.groups == ("f, 1", "f, b", "m, 1", "m, b")
    assert schema.sensitive.column_names == ("sex", "job")
    toml, data = tmp_path / "s.toml", tmp_path / "s.json"
    toml.write_text(schema.to_toml(), encoding="utf-8")
    data.write_text(json.dumps(schema.to_dict()), encoding="utf-8")
    assert Schema.load(toml) == Schema.load(data) == schema
    assert Schema.load(toml).sensitive.parts == schema.sensitive.parts


def test_a_file_keeps_the_order_of_the_facts():
    data = PEOPLE | {"crosses": [["age", "job"]], "reviewed": False}
    data["columns"] = [{**data["columns"][0], "usual": 40, "spiky": True}, data["columns"][1]]
    lines = Schema.from_dict(data).to_toml().splitlines()
    entries = [line.split(" = ")[0] for line in lines if line]
    assert entries == [
        *("rows", "crosses", "reviewed", "[label]", "name", "values", "[sensitive]", "name"),
        *("values", "[[columns]]", "name", "kind", "bounds", "center", "scale", "usual", "edges"),
        *("spiky", "[[columns]]", "name", "kind", "values"),
    ]


def test_defaults_say_nothing_about_values():
    schema = Schema.from_dict(PEOPLE)
    assert schema.crosses == ()
    assert schema.numeric[0].usual is None
    assert not schema.numeric[0].spiky
    assert schema.categorical[0].usual is None
    assert "usual" not in schema.to_toml()
    assert "spiky" not in schema.to_toml()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ((*AGE, "bound"), "Unknown entry 'bound' in age (did you mean 'bounds'?)."),
        (("sensitiv",), "Unknown entry 'sensitiv' in schema (did you mean 'sensitive'?)."),
        (("label", "value"), "Unknown entry 'value' in label (did you mean 'values'?)."),
    ],
)
def test_a_misspelt_entry_is_answered_with_the_nearest(place, said):
    data = copy.deepcopy(PEOPLE)
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = 1
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(data)
    assert str(caught.value) == said


def test_a_misspelt_kind_is_answered_with_the_nearest():
    data = copy.deepcopy(PEOPLE)
    data["columns"][0]["kind"] = "numerical"
    with pytest.raises(SchemaError, match=r"got 'numerical' \(did you mean 'numeric'\?\)"):
        Schema.from_dict(data)

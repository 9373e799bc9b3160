"""Neighbours are one person apart, whose records come last; unrelated tables share nobody."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair.audit.neighbours import neighbours
from dpfair.audit.sample import PERSON, sample_schema
from dpfair.data.encode import encode
from dpfair.datasets import DATASETS
from dpfair.learners.features import design
from dpfair.privacy.events import RELATIONS

SCHEMA = sample_schema()


@pytest.fixture(params=[1, 3], ids=["records", "persons"])
def rows_per_unit(request):
    return request.param


@pytest.fixture(params=list(RELATIONS))
def all_pairs(request, rows_per_unit):
    return neighbours(SCHEMA, request.param, at_least=60, rows_per_unit=rows_per_unit)


@pytest.fixture
def pairs(all_pairs):
    return [pair for pair in all_pairs if pair.near]


@pytest.fixture
def unrelated(all_pairs):
    return [pair for pair in all_pairs if not pair.near and "matched" not in pair.name]


@pytest.fixture
def matched(all_pairs):
    return {pair.name: pair for pair in all_pairs if "matched" in pair.name}


def rows(table):
    return [(*row, label) for row, label in zip(table.X.rows(), table.y.tolist(), strict=True)]


def same(first, second):
    return repr(first) == repr(second)  # NaN included


def test_neighbours_differ_in_the_last_records_only(pairs):
    for pair in pairs:
        first, second = rows(pair.first), rows(pair.second)
        assert same(first[: pair.shared], second[: pair.shared]), pair.name
        assert pair.shared >= 1


def test_one_person_comes_or_another_takes_the_place(pairs, rows_per_unit):
    for pair in pairs:
        more, less = sorted((rows(pair.first), rows(pair.second)), key=len, reverse=True)
        extra = [row for table in (more, less) for row in table[pair.shared :]]
        assert extra, pair.name
        if pair.relation == "add_remove":
            assert len(less) == pair.shared
        else:
            assert len(less) > pair.shared
        if rows_per_unit == 1:
            assert len(more) == pair.shared + 1
        assert len({row[-2] for row in extra} - {None}) <= 1, "more than one person differs"


def test_nobody_else_has_the_name_of_the_person(pairs):
    for pair in pairs:
        others = set(pair.first.X[PERSON][: pair.shared])
        own = set(pair.first.X[PERSON][pair.shared :]) | set(pair.second.X[PERSON][pair.shared :])
        assert not others & (own - {None}), pair.name


def test_unrelated_tables_have_nobody_in_common(unrelated, matched):
    assert unrelated
    assert matched
    for pair in (*unrelated, *matched.values()):
        assert pair.shared == 0
        assert not set(rows(pair.first)) & set(rows(pair.second)), pair.name
        assert not set(pair.first.X[PERSON]) & set(pair.second.X[PERSON]), pair.name


def test_unrelated_records_are_many_or_few_unless_their_number_is_public(unrelated):
    for pair in unrelated:
        if pair.relation == "replace_one":
            assert len(pair.second.y) == len(pair.first.y)
    if unrelated[0].relation == "add_remove":
        assert {len(pair.second.y) for pair in unrelated} == {1500, 2}


def test_unrelated_tables_come_with_all_coins_and_share_recordings(pairs, unrelated):
    recorded = {(id(pair.first), pair.seed) for pair in pairs}
    assert {(id(pair.first), pair.seed) for pair in unrelated} <= recorded
    assert {pair.seed for pair in unrelated} == {pair.seed for pair in pairs}


def test_some_unrelated_tables_are_all_of_one_class_and_of_one_group(unrelated):
    alike = {
        (*set(pair.second.y), *set(pair.second.X["sex"]))
        for pair in unrelated
        if "alike" in pair.name
    }
    assert alike == {("yes", "f"), ("no", "m")}


def test_matched_tables_agree_record_by_record_in_what_their_name_says(matched, rows_per_unit):
    of_persons = {"membership"} if rows_per_unit > 1 else set()  # whose names are others
    agree = {"nothing": set(), "group": {"group"}, "label": {"label"}}
    for name, kept in (agree | {"group and label": {"group", "label"}}).items():
        pair = matched[f"unrelated records, matched in {name}"]
        assert not pair.near
        assert pair.differs == {"group", "label"} - kept | of_persons
        columns = {"group": (pair.first.X["sex"], pair.second.X["sex"])}
        columns["label"] = pair.first.y, pair.second.y
        for part, (first, second) in columns.items():
            assert all(
                (one == two) == (part in kept) for one, two in zip(first, second, strict=True)
            )
        assert not np.any(pair.first.X["income"].to_numpy() == pair.second.X["income"].to_numpy())


def test_matched_tables_share_a_recording_of_neighbours(matched, pairs):
    recorded = {(id(pair.first), pair.seed) for pair in pairs}
    assert {(id(pair.first), pair.seed) for pair in matched.values()} <= recorded


@pytest.mark.parametrize(
    ("name", "relation", "differs"),
    [
        ("one of many duplicates", "replace_one", set()),
        ("an outlier among duplicates", "replace_one", set()),
        ("another's record with the other label", "replace_one", {"label"}),
        ("another's record with the other label", "add_remove", {"membership", "group", "label"}),
        ("no value of repaid", "replace_one", {"membership", "group", "label"}),
    ],
)
def test_pairs_know_in_what_they_differ(name, relation, differs):
    assert find(name, relation).differs == differs


def test_some_person_has_more_records_than_count(rows_per_unit):
    if rows_per_unit == 1:
        return
    for pair in neighbours(SCHEMA, "add_remove", rows_per_unit=rows_per_unit):
        if "more records than count" in pair.name:
            assert pair.second.X.height - pair.shared > rows_per_unit
            assert pair.first.X[PERSON].value_counts()["count"].max() > rows_per_unit
            return
    raise AssertionError("no such pair")


def find(name, relation="add_remove", schema=SCHEMA):
    return next(pair for pair in neighbours(schema, relation) if name in pair.name)


def last(pair):
    return pair.second.X.row(-1, named=True)


@pytest.mark.parametrize("value", ["f", "m"])
def test_the_only_member_of_a_group(value):
    pair = find(f"the only record with sex = {value}")
    assert set(pair.first.X["sex"]) == {"f", "m"} - {value}
    assert last(pair)["sex"] == value


@pytest.mark.parametrize("value", ["no", "yes"])
def test_the_only_record_of_a_class(value):
    pair = find(f"the only record with repaid = {value}")
    assert set(pair.first.y) == {"no", "yes"} - {value}
    assert pair.second.y[-1] == value


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("the largest number", lambda v: v == 1e308),
        ("the smallest number", lambda v: v == -1e308),
        ("a subnormal number", lambda v: 0 < v < 1e-300),
        ("NaN", np.isnan),
        ("infinity", np.isposinf),
        ("minus infinity", np.isneginf),
        ("nothing", lambda v: v is None),
    ],
)
def test_extreme_numbers_are_in_all_numeric_columns(name, check):
    record = last(find(f"{name} in every column"))
    assert check(record["income"])
    assert check(record["gain"])


@pytest.mark.parametrize("column", ["sex", "job", "home"])
def test_values_that_nobody_declared(column):
    declared = {v for c in (*SCHEMA.categorical, SCHEMA.sensitive) for v in c.values}
    assert last(find(f"an undeclared value of {column}"))[column] not in declared | {None}
    assert last(find(f"no value of {column}"))[column] is None


def test_labels_that_nobody_declared():
    assert find("an undeclared value of repaid").second.y[-1] not in SCHEMA.label.values
    assert find("no value of repaid").second.y[-1] is None


def test_two_values_of_one_bucket():
    pair = find("gain in the bucket of another value")
    beside, own = pair.second.X["gain"][-2:]
    assert beside != own
    codes = design("binned", SCHEMA, encode(pair.second.X, SCHEMA)).codes
    assert codes[-1].tolist() == codes[-2].tolist()


def test_tiny_tables_and_duplicates():
    assert find("the second record").first.X.height == 1
    pair = find("the third record")
    assert {pair.first.X.height, pair.second.X.height} == {2, 3}
    pair = find("one of many duplicates")
    assert pair.second.X.drop(PERSON).unique().height == 1
    pair = find("an outlier among duplicates")
    assert pair.first.X.drop(PERSON).unique().height == 1
    assert last(pair)["income"] == 100


def test_a_record_is_replaced_within_and_across_groups():
    moves = set()
    for pair in neighbours(SCHEMA, "replace_one"):
        moves.add((pair.first.X["sex"][-1], pair.second.X["sex"][-1]))
    assert {("f", "m"), ("m", "f")} & moves
    assert {("f", "f"), ("m", "m")} & moves


def test_some_tables_are_all_text():
    pair = find("a word for a number")
    assert last(pair)["income"] == "many"
    assert find("a long number").second.X["income"][-1] == "9" * 400


def test_pairs_share_recordings_and_coins_vary():
    pairs = neighbours(SCHEMA, "add_remove")
    assert len({(id(p.first), p.seed) for p in pairs}) < len(pairs) / 2
    assert len({p.seed for p in pairs}) >= 3


def test_some_pairs_lose_and_some_gain_a_record():
    pairs = [pair for pair in neighbours(SCHEMA, "add_remove") if pair.near]
    assert {pair.first.X.height - pair.second.X.height for pair in pairs} == {-1, 1}


def test_records_without_a_group_can_be_left_out():
    pairs = neighbours(SCHEMA, "add_remove", at_least=50, unknown_groups=False)
    assert sum(pair.near for pair in pairs) == 50
    for pair in pairs:
        assert set(pair.first.X["sex"]) | set(pair.second.X["sex"]) <= {"f", "m"}


def test_other_seeds_give_other_records_and_coins():
    one, two = (neighbours(SCHEMA, "add_remove", seed=seed)[0] for seed in (0, 1))
    assert not one.first.X.equals(two.first.X)
    assert one.seed != two.seed


@pytest.mark.parametrize("name", DATASETS)
def test_any_schema_has_neighbours(name):
    schema = DATASETS[name].schema
    names = [pair.name for pair in neighbours(schema, "replace_one", at_least=50)]
    assert len(names) >= 50
    assert sum("the only record with" in name for name in names) >= 4

"""Which names are taken for a declared scope, and which are new ones."""

import unicodedata

import pytest

from dpfair.errors import InputError
from dpfair.privacy.ledger_file import scopes as scopes_module
from dpfair.privacy.ledger_file.scopes import Scopes, skeletons


@pytest.fixture
def scopes():
    scopes = Scopes()
    for scope in ("north", "2025", "2025/north", "2025-1-12", "Österreich", "Ωmega", "北"):
        scopes.add(scope)
    return scopes


@pytest.mark.parametrize(
    ("name", "resembled"),
    [
        ("North", "north"),
        ("NORTH", "north"),
        ("n\u043erth", "north"),  # a Cyrillic o
        ("\u03b7\u03bfr\u03c4h", "north"),  # Greek eta, omicron and tau
        ("\uff4eorth", "north"),  # another normal form
        ("n\u00f8rth", "north"),
        ("no\u0308rth", "north"),
        ("n0rth", "north"),
        (" north", "north"),
        ("north\u00a0", "north"),
        ("no rth", "north"),
        ("nor\u200bth", "north"),  # a space of no width
        ("north\ufe0f", "north"),
        ("north\u115f", "north"),
        ("nor-th", "north"),
        ("north.", "north"),
        ("north,", "north"),
        ("(north)", "north"),
        ("nor&th", "north"),
        ("north:", "north"),
        ("2025-01-12", "2025-1-12"),
        ("north/", "north"),
        ("//north", "north"),
        ("north/.", "north"),
        ("norlh", None),
        ("nroth", None),
        ("south", None),
        ("2O25", "2025"),
        ("2025/North", "2025/north"),
        ("2O25/north", "2025/north"),
        ("2O25/south", "2025"),
        ("2025/south", None),
        ("north/north", None),
        ("2025-11-2", None),
        ("2025_1_12", "2025-1-12"),
        ("osterreich", "Österreich"),
        ("\u043esterreich", "Österreich"),
        ("ωmega", "Ωmega"),
        ("北京", None),
        ("/", ""),
        (" ", ""),
    ],
)
def test_a_name_that_looks_like_a_declared_one_is_refused(scopes, name, resembled):
    if resembled is None:
        scopes.check(name, new=True)
        with pytest.raises(InputError, match="was not declared"):
            scopes.check(name)
        return
    for new in (False, True):
        with pytest.raises(InputError, match="looks like") as caught:
            scopes.check(name, new=new)
        assert f"looks like {resembled!r}" in str(caught.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("will", "wi1l"),
        ("lan", "Ian"),
        ("m", "rn"),
        ("v1.0", "V1_O"),
        ("\u0441\u043e\u0440", "cop"),  # Cyrillic throughout
        ("ΚΑΤΟ", "kato"),
        ("Ι", "l"),
        ("νΗ", "vh"),  # a small Greek letter and a capital one
        ("Ø\u0142", "ol"),
        ("strasse", "straße"),
        ("٣", "3"),
        ("Фон", "φoh"),
    ],
)
def test_skeletons_of_look_alikes_meet(one, other):
    assert skeletons(one) & skeletons(other)


def test_other_words_have_other_skeletons():
    words = ["north", "south", "east", "west", "train", "test", "a", "b", "n", "v", "h", "y", "u"]
    words += [
        "2024",
        "2025",
        "q1",
        "q2",
        "q3",
        "юг",
        "восток",
        "запад",
        "किला",
        "कुल",
        "서울",
        "부산",
    ]
    assert all(not skeletons(a) & skeletons(b) for a in words for b in words if a != b)


def test_the_table_has_foreign_letters_only():
    """In print it cannot be read: the letters on the right look like those on the left."""
    letters = [letter for letters in scopes_module._LOOKS.values() for letter in letters]
    assert len(letters) == len(set(letters))
    assert [letter for letter in letters if letter.isascii()] == ["I", "1", "0"]
    for letter in letters:
        if not letter.isascii():
            script = unicodedata.name(letter).split()[0]
            assert script in {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN"}


@pytest.mark.parametrize(
    "name",
    [
        "s\u043euth",  # mixed
        "south!",
        "a\\b",
        "2025\u2215north",  # a slash that is none
        "\u13aa\u13df",  # Cherokee
        "\u2800",
        "a\u115f",
        "a\u034f",
        "²",
        "Ko\u0308ln",
        "x//y",
    ],
)
def test_other_characters_are_refused(scopes, name):
    with pytest.raises(InputError, match="scope"):
        scopes.check(name, new=True)


def test_every_part_of_a_path_is_declared(scopes):
    with pytest.raises(InputError, match="'west', which was not declared"):
        scopes.check("west/a", new=True)
    scopes.add("west")
    scopes.check("west/a", new=True)
    with pytest.raises(InputError, match="was not declared"):
        scopes.check("west/a")


def test_a_misspelt_scope_is_told_the_right_one(scopes):
    with pytest.raises(InputError, match="Did you mean 'north'"):
        scopes.check("nroth")


def test_the_whole_data_set_is_always_there():
    Scopes().check("")
    assert list(Scopes()) == [""]

"""Which label value means accepted: the good outcome for the person."""

import pytest

from dpfair.data.proposal.accepted import choose_accepted, looks_reversed
from dpfair.errors import InputError


def choose(name, *values, accept=None):
    return choose_accepted(name, {value: i + 1 for i, value in enumerate(values)}, accept)


@pytest.mark.parametrize(
    ("rejected", "accepted"),
    [
        ("no", "yes"),
        ("N", "Y"),
        ("0", "1"),
        ("-1", "1"),
        ("false", "true"),
        ("denied", "approved"),
        ("bad", "good"),
        ("<=50K", ">50K"),
        ("<=50K.", ">50K."),
        ("Charged Off", "Fully Paid"),
        ("not hired", "hired"),
        ("zebra", "approved"),
        ("rejected", "aardvark"),
        ("noncompliant", "compliant"),
    ],
)
def test_the_good_outcome_is_recognised(rejected, accepted):
    for values in ((rejected, accepted), (accepted, rejected)):
        found = choose("outcome", *values)
        assert (found.rejected, found.value, found.sure) == (rejected, accepted, True)


@pytest.mark.parametrize("name", ["deny", "loan_default", "wasArrested", "Charged-Off", "default"])
def test_yes_is_the_bad_outcome_of_some_names_which_is_said_as_an_assumption(name):
    found = choose(name, "yes", "no")
    assert (found.rejected, found.value, found.sure) == ("yes", "no", False)
    assert name in found.why


@pytest.mark.parametrize("values", [("1", "2"), ("a", "b"), ("Female", "Male")])
def test_a_guess_is_marked(values):
    found = choose("y", *values)
    assert {found.rejected, found.value} == set(values)
    assert not found.sure


def test_of_many_values_the_opposite_is_chosen():
    found = choose("status", "Fully Paid", "Charged Off", "Current", "In Grace")
    assert (found.rejected, found.value) == ("Charged Off", "Fully Paid")
    found = choose("status", "a", "b", "c", accept="a")
    assert (found.rejected, found.value, found.sure) == ("c", "a", True)


def test_what_is_stated_counts():
    assert choose("y", "no", "yes", accept="no").value == "no"
    assert choose("y", "0", "1", accept="0.0").value == "0"
    with pytest.raises(InputError, match="no value 'maybe'; it has no, yes"):
        choose("y", "no", "yes", accept="maybe")


def test_a_reversed_label_is_noticed():
    assert looks_reversed("loan", ("good", "bad"))
    assert looks_reversed("deny", ("no", "yes"))
    assert not looks_reversed("deny", ("yes", "no"))
    assert not looks_reversed("loan", ("bad", "good"))
    assert not looks_reversed("loan", ("1", "2"))

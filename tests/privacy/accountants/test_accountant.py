"""What every accountant shares: answers are rounded up, finite, or refused."""

import math

import pytest

from dpfair.errors import InputError
from dpfair.privacy.accountants import Accountant
from dpfair.privacy.events import step_event

EVENT = step_event(1.0, 1.0)


def stub(value, **parameters):
    return Accountant("stub", lambda *asked: value, lambda *asked: True, **parameters)


def test_the_answer_is_rounded_up():
    assert stub(1.0).epsilon(EVENT, 1e-5, "add_remove") > 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_no_answer_is_an_error(value):
    """Issue class mlforhealthlabpub#38: a NaN epsilon must not pass any comparison."""
    with pytest.raises(InputError, match="no finite answer"):
        stub(value).epsilon(EVENT, 1e-5, "add_remove")


def test_a_missing_package_is_an_error_that_names_the_extra():
    absent = stub(1.0, package="no_such_package", extra="absent")
    assert not absent.installed
    with pytest.raises(InputError, match=r"stub accountant is not installed.*dpfair\[absent\]"):
        absent.epsilon(EVENT, 1e-5, "add_remove")
    assert stub(1.0, package="math").installed

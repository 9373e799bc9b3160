"""Every method of METHODS and every learner of LEARNERS passes every check; nothing to edit."""

from __future__ import annotations

import pytest
from contracts.broken import BROKEN, TOLD, Another, NoNoise, Sound
from contracts.cases import all_cases, registered
from contracts.checks import CHECKS

from dpfair.audit.catalogue import catalogue
from dpfair.learners import LEARNERS


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
@pytest.mark.parametrize("check", CHECKS)
def test_a_method_keeps_its_contract(case, check):
    CHECKS[check](case)


def case_of(name):
    return next(case for case in all_cases() if case.name == name)


@pytest.mark.parametrize("check", CHECKS)
def test_a_method_that_was_added_by_one_line_keeps_its_contract(check):
    with registered("new", Sound):
        CHECKS[check](case_of("new"))


def test_one_line_is_enough_to_be_checked_and_audited():
    names = {case.name for case in all_cases()}, {entry.name for entry in catalogue()}
    with registered("new", Sound), registered("other", Another, LEARNERS):
        assert {case.name for case in all_cases()} == names[0] | {"new", "fair with other"}
        assert {entry.name for entry in catalogue()} == names[1] | {"new", "reuse-other"}
    assert ({case.name for case in all_cases()}, {entry.name for entry in catalogue()}) == names


@pytest.mark.parametrize(("check", "kind", "says"), BROKEN, ids=[b[1].__name__ for b in BROKEN])
def test_a_broken_method_is_caught(check, kind, says):
    errors = (Exception, pytest.fail.Exception)
    with registered("broken", kind), pytest.raises(errors, match=says):
        CHECKS[check](case_of("broken"))


def test_a_broken_learner_is_caught():
    check = CHECKS["neighbours are not told apart"]
    with registered("broken", NoNoise, LEARNERS), pytest.raises(AssertionError, match=TOLD):
        check(case_of("fair with broken"))


def test_every_check_has_caught_something():
    assert {check for check, _, _ in BROKEN} == {*CHECKS}

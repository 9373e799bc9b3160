"""The canary game: sound methods never alarm, and those that forget their noise do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from trust.broken_noise import weak

from dpfair.audit.catalogue import CATALOGUE, Method, small_model
from dpfair.audit.distinguish import Listening
from dpfair.audit.game import canary_game, canary_records, claims_of, shown_of
from dpfair.audit.sample import sample_schema, table_of
from dpfair.certificate import FairnessClaim
from dpfair.errors import InputError
from dpfair.methods.post_processor import FairPostProcessor
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import gaussian_steps, noisy_table
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import noise_source

SCHEMA = sample_schema()


class Uncertified(FairPostProcessor):
    """Certificates take time, and only read the release."""

    def fairness(self, fitted):
        return FairnessClaim.nothing(self.schema_.groups, "nobody asked for one")


def uncertified(name, **settings):
    def make(schema, relation):
        return small_model(Uncertified, schema, relation, **settings)

    return Method(name, "without a certificate", make)


METHODS = {method.name: method for method in CATALOGUE}
METHODS["post-processor"] = uncertified("post-processor")
METHODS["post-processor-sizes"] = uncertified("post-processor-sizes", public_sizes=True)


def play(name, fits, seed=1, source=Listening):
    return canary_game(METHODS[name], SCHEMA, fits, source(seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["post-processor", "post-processor-sizes", "logistic"])
def test_a_sound_method_does_not_alarm(name):
    findings = play(name, 150)
    assert not any(finding.exceeds for finding in findings)
    assert [finding.samples for finding in findings] == [150] * len(findings)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["post-processor", "logistic", "logistic-exact", "reuse"])
def test_a_sound_method_does_not_alarm_on_twenty_seeds(name):
    for seed in range(20):
        assert not any(finding.exceeds for finding in play(name, 200, seed))


@pytest.mark.parametrize(
    ("name", "factor", "fits"),
    [
        pytest.param("post-processor", 0, 400, marks=pytest.mark.slow),
        pytest.param("post-processor", 0.3, 400, marks=pytest.mark.slow),
        ("logistic", 0, 150),
    ],
)
def test_forgotten_noise_is_caught(name, factor, fits):
    assert any(finding.failed for finding in play(name, fits, source=weak(factor)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic", "certified-odds"])
@pytest.mark.parametrize("factor", [0, 0.3])
def test_forgotten_noise_is_caught_in_training_and_in_whole_fits(name, factor):
    assert any(finding.failed for finding in play(name, 1500, source=weak(factor)))


def test_the_canary_is_as_far_as_possible_from_the_others():
    others, opposite, canary = canary_records(SCHEMA)
    assert canary["income"] == 100
    assert [other["income"] for other in others] == [0, 0]
    assert {name for name in canary if canary[name] == opposite[name]} == {
        "sex",
        "repaid",
        "person of the audit",
    }
    assert canary["sex"] != others[0]["sex"]


class Assuming:
    """Takes the number of records as public, if it is told to; remembers what it was given."""

    seen: ClassVar[list] = []

    def __init__(self, relation, assumes):
        self.relation, self.assumes = relation, assumes

    def fit(self, X, y):
        self.seen.append((self.relation, len(X)))
        self.ledger_ = Ledger(1, 1e-5, relation=self.relation, noise=noise_source(None))
        if self.assumes:
            self.ledger_.assume(Assumption(), np.array([len(X)]))
        event = noisy_table(1, self.relation)
        self.ledger_.charge(event, scope="", purpose="count").draw(event).discrete_laplace([1, 2])
        self.cuts_ = (float(self.assumes) * len(X),)
        return self


@pytest.mark.parametrize("assumes", [False, True])
def test_facts_that_are_assumed_public_are_the_same_on_both_tables(assumes):
    """They would tell the canary at once, which is no bug."""
    Assuming.seen.clear()
    method = Method("m", "", lambda schema, relation: Assuming(relation, assumes))
    findings = canary_game(method, SCHEMA, 100, Listening(1))
    tables = set(Assuming.seen[1:])  # after the rehearsal
    if assumes:
        assert tables == {("replace_one", 3)}
        assert findings[0].pair == "its opposite / the canary"
    else:
        assert tables == {("add_remove", 2), ("add_remove", 3)}
        assert findings[0].pair == "without / with the canary"
    assert not any(finding.exceeds for finding in findings)


def test_the_released_count_of_the_canarys_place_is_looked_at():
    model = METHODS["post-processor"].make(SCHEMA, "add_remove").set_params(random_state=4)
    others, _, canary = canary_records(SCHEMA)
    model.fit(*table_of(SCHEMA, [*others, canary]))
    _, score, count, size = shown_of(model, table_of(SCHEMA, [canary]))
    assert score == 1
    assert count == model.release_.counts[-1, 0, 1]
    assert size == model.release_.counts[-1].sum()


class Leaky:
    """Pays for a noisy count, and fails if there are three records."""

    def fit(self, X, y):
        event = noisy_table(1, "add_remove")
        self.ledger_ = Ledger(1, 1e-5, noise=noise_source(None))
        self.ledger_.charge(event, scope="", purpose="count")
        self.cuts_ = (0.5,)
        if len(X) == 3:
            raise InputError("Three.")
        return self


def test_an_error_that_tells_the_canary_is_caught():
    leaky = Method("leaky", "fails with the canary", lambda schema, relation: Leaky())
    findings = canary_game(leaky, SCHEMA, 200, Listening(1))
    assert all(finding.failed for finding in findings)


def test_a_method_that_cannot_be_fitted_is_an_error():
    def broken(schema, relation):
        def fit(X, y):
            raise InputError("Never.")

        return SimpleNamespace(fit=fit)

    with pytest.raises(InputError, match="nothing cannot be fitted under add_remove"):
        canary_game(Method("nothing", "", broken), SCHEMA, 100, Listening(1))
    with pytest.raises(InputError, match="fits"):
        play("logistic", 10)


def test_claims_are_those_of_the_worst_scope():
    ledger = Ledger(5, 1e-5)
    ledger.charge(gaussian_steps(4.0, 1.0, 4), scope="train", purpose="train")
    ledger.charge(noisy_table(2, "add_remove"), scope="release", purpose="count")
    [(epsilon, delta), (sharp, large)] = claims_of(ledger)
    assert (epsilon, delta) == (ledger.spent, 1e-5)
    assert large == 0.1
    assert 1.8 < sharp < 2  # of the table: its delta hardly matters
    persons = Ledger(5, 1e-5, rows_per_unit=2)
    persons.charge(noisy_table(1, "add_remove"), scope="", purpose="count")
    assert claims_of(persons) == [(2.0, 1e-5)]


def test_progress_is_told_after_every_pair_of_fits():
    done = []
    canary_game(
        METHODS["post-processor"], SCHEMA, 100, Listening(1), progress=lambda n: done.append(n)
    )
    assert done == list(np.arange(1, 101))

"""One of several mechanisms costs what the dearest costs, alone and among others."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import SelfComposedDpEvent
from dp_accounting.pld import privacy_loss_distribution as pld

from dpfair.errors import InputError, ReceiptError
from dpfair.privacy.accountants import ACCOUNTANTS, calibrate, cost, epsilon, epsilons
from dpfair.privacy.alternatives import choices, worst_of
from dpfair.privacy.event_json import event_from_json, event_to_json
from dpfair.privacy.events import (
    OneOfDpEvent,
    best_of_runs,
    compose,
    drawable,
    gaussian_steps,
    noisy_table,
    parts,
    pure_epsilon,
    step_event,
)
from dpfair.privacy.ledger import Ledger

DELTA = 1e-5
TRAIN, COUNT = gaussian_steps(4.0, 0.1, 50), noisy_table("3/2", "add_remove")
FIT = OneOfDpEvent((TRAIN, COUNT))
FULL = OneOfDpEvent((gaussian_steps(6.0, 1.0, 10), noisy_table(2, "add_remove")))


def spent(event, relation="add_remove", **how):
    return epsilon(event, DELTA, relation=relation, **how).epsilon


def dearest(jobs, relation="add_remove"):
    """Brute force over all that a record may have met."""
    return max(
        spent(compose(list(met)), relation) for met in itertools.product(*[j.events for j in jobs])
    )


# The event


def test_a_choice_is_a_leaf_and_plain_data():
    assert parts(compose([FIT, FIT])) == Counter({FIT: 2})
    text = json.dumps(event_to_json(compose([FIT, TRAIN])))
    assert event_from_json(json.loads(text)) == compose([FIT, TRAIN])


def test_order_and_grouping_of_alternatives_mean_nothing():
    twice = SelfComposedDpEvent(step_event(2.0, 1.0), 2)
    listed = compose([step_event(2.0, 1.0)] * 2)
    one, other = OneOfDpEvent((twice, COUNT)), OneOfDpEvent((COUNT, listed))
    assert one == other
    assert hash(one) == hash(other)
    assert one != OneOfDpEvent((listed, TRAIN))


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "OneOf", "events": []},
        {"kind": "OneOf", "events": [{"kind": "Gaussian", "noise_multiplier": -1.0}]},
        {"kind": "OneOf", "events": [event_to_json(FIT)]},
        {"kind": "OneOf", "events": [event_to_json(TRAIN)] * 17},
        {"kind": "OneOf", "events": 3},
        {"kind": "OneOf"},
    ],
    ids=["nothing", "bad leaf", "nested", "too many", "no list", "no alternatives"],
)
def test_hostile_choices_are_refused(data):
    with pytest.raises(InputError):
        event_from_json(data)


def test_deep_nesting_is_refused_quickly():
    """Each level would double the time, were it looked at twice."""
    data = event_to_json(COUNT)
    for _ in range(200):
        data = {"kind": "OneOf", "events": [data]}
    with pytest.raises(InputError):
        event_from_json(data)


def test_runs_of_a_search_offer_no_choice():
    with pytest.raises(InputError, match="choice"):
        best_of_runs([FIT], 3.0, 0.0)


def test_a_choice_of_tables_is_pure_and_costs_the_dearest():
    tables = OneOfDpEvent((noisy_table("1/2", "add_remove"), noisy_table("1/4", "add_remove")))
    assert pure_epsilon(tables) == Fraction(1, 2)
    assert pure_epsilon(compose([tables, tables, noisy_table(1, "add_remove")])) == 2
    assert pure_epsilon(FIT) is None


def test_a_choice_is_paid_for_and_not_drawn():
    assert drawable(compose([FIT, SelfComposedDpEvent(FIT, 2), TRAIN])) == drawable(TRAIN)
    tables = OneOfDpEvent((COUNT, COUNT))
    assert not drawable(SelfComposedDpEvent(tables, 2))
    receipt = Ledger(9, DELTA).charge(FIT, scope="", purpose="fit")
    for event in (FIT, COUNT, step_event(4.0, 0.1)):
        with pytest.raises(ReceiptError, match="Nothing is left"):
            receipt.draw(event)


# One choice


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_one_choice_costs_the_dearest_alternative_with_all_the_rest(relation):
    for rest in ([], [noisy_table("1/3", relation)], [gaussian_steps(30.0, 1.0, 5)]):
        expected = max(spent(compose([a, *rest]), relation) for a in FIT.events)
        assert spent(compose([FIT, *rest]), relation) == expected


def test_a_fit_of_the_whole_budget_has_room_in_an_empty_ledger():
    """Its table costs exactly 3; through the accountant it would cost a rounding more."""
    train = gaussian_steps(calibrate(3, DELTA, 0.1, 50), 0.1, 50)
    fit = OneOfDpEvent((train, noisy_table(3, "add_remove")))
    assert cost(fit, DELTA, "add_remove") == 3
    ledger = Ledger(3, DELTA)
    ledger.charge(fit, scope="", purpose="fit")
    assert ledger.spent == 3


def test_renyi_takes_the_worst_divergence_and_the_others_do_not_support_it():
    answers = epsilons(compose([FIT, FIT]), DELTA)
    assert set(answers) == {"pld", "rdp"}
    assert answers["pld"].epsilon <= answers["rdp"].epsilon
    assert spent(FIT, accountant="rdp") >= max(spent(e, accountant="rdp") for e in FIT.events)
    assert set(epsilons(FIT, DELTA, relation="replace_one")) == {"pld"}
    for accountant in ("gdp", "prv"):
        with pytest.raises(InputError, match=f"The {accountant} .* support a choice"):
            spent(FIT, accountant=accountant)


def test_a_search_may_be_an_alternative():
    search = best_of_runs([gaussian_steps(20.0, 1.0, 3)], 2.0, 0.0)
    event = OneOfDpEvent((search, COUNT))
    assert cost(event, DELTA, "add_remove") == max(
        cost(e, DELTA, "add_remove") for e in event.events
    )
    assert set(epsilons(event, DELTA)) == {"rdp"}


# Several choices


@pytest.mark.parametrize(
    "jobs", [[FIT] * 2, [FIT, FULL], [FIT] * 3, [FIT, FULL, FULL], [FIT, FIT, FULL, FULL]], ids=len
)
def test_a_few_choices_cost_the_dearest_combination(jobs):
    assert spent(compose(jobs)) == pytest.approx(dearest(jobs), rel=1e-9)


def test_two_fits_of_half_the_budget_have_room():
    train = gaussian_steps(calibrate(1.5, DELTA, 1.0, 10), 1.0, 10)
    fit = OneOfDpEvent((train, noisy_table("3/2", "add_remove")))
    ledger = Ledger(3, DELTA)
    for _ in range(2):
        ledger.charge(fit, scope="", purpose="fit")
    assert ledger.spent <= 3


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("jobs", [[FIT] * 2, [FIT, FULL, FIT], [FIT, FIT, FULL, FULL]], ids=len)
def test_the_dominating_distribution_is_never_below_any_combination(jobs, relation):
    """The accountant itself tosses no coins: every choice is bounded by its distribution."""
    exact = dearest(jobs, relation)
    bound = ACCOUNTANTS["pld"].epsilon(compose(jobs), DELTA, relation)
    assert exact * (1 - 1e-6) <= bound <= exact * 1.03


def test_choices_are_tossed_as_far_as_there_is_room():
    assert len(choices(Counter({FIT: 15}))) == 16
    beyond = choices(Counter({FIT: 20, FULL: 1}))
    assert len(beyond) == 16
    assert all(paid[FIT] == 5 and paid[FULL] == 1 for paid in beyond)
    assert choices(parts(TRAIN)) == [parts(TRAIN)]


def test_many_choices_cost_about_what_brute_force_says():
    """Twenty equal Gaussian fits beside a cheap table: the Gaussian is always the dearest."""
    fit = OneOfDpEvent((step_event(20.0, 1.0), noisy_table("1/100", "add_remove")))
    exact = spent(gaussian_steps(20.0, 1.0, 20))
    assert exact * (1 - 1e-6) <= spent(SelfComposedDpEvent(fit, 20)) <= 1.01 * exact


# The dominating distribution


GRID = 1e-3


def distributions():
    return [
        pld.from_gaussian_mechanism(
            1.2,
            value_discretization_interval=GRID,
            sampling_prob=0.3,
            neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        ),
        pld.from_discrete_laplace_mechanism(0.7, value_discretization_interval=GRID),
        pld.from_gaussian_mechanism(4.0, value_discretization_interval=GRID).self_compose(8),
    ]


def test_worst_of_is_above_every_alternative_everywhere_and_exact_on_the_grid():
    for some in itertools.combinations(distributions(), 2):
        worst = worst_of(some, GRID)
        for pmf in ("_pmf_remove", "_pmf_add"):
            one = getattr(worst, pmf)
            others = [getattr(each, pmf) for each in some]
            for epsilon_ in np.concatenate([np.arange(-20, 21) * 0.1, [0.1234567, -0.7654321]]):
                delta = one.get_delta_for_epsilon(float(epsilon_))
                most = max(o.get_delta_for_epsilon(float(epsilon_)) for o in others)
                assert delta >= most * (1 - 1e-9)
                assert delta == pytest.approx(most, rel=1e-3, abs=1e-9)


def test_worst_of_one_is_itself():
    [one, *_] = distributions()
    assert worst_of([one], GRID) is one


def test_worst_of_keeps_the_chance_of_losing_everything():
    lossy = pld.from_privacy_parameters(
        pld.common.DifferentialPrivacyParameters(0.1, 0.01), value_discretization_interval=GRID
    )
    worst = worst_of([lossy, distributions()[1]], GRID)
    assert worst.get_delta_for_epsilon(50.0) == pytest.approx(0.01, rel=1e-9)
    assert worst.get_epsilon_for_delta(0.005) == math.inf


def test_worst_of_composes_above_the_truth():
    """Against an optimistic composition of the true alternatives, on a fine grid."""
    fine, jobs = 1e-4, 3

    def optimistic(kind):
        if kind == "laplace":
            one = pld.from_discrete_laplace_mechanism(
                0.7, value_discretization_interval=fine, pessimistic_estimate=False
            )
        else:
            one = pld.from_gaussian_mechanism(
                1.6,
                value_discretization_interval=fine,
                pessimistic_estimate=False,
                use_connect_dots=False,
            )
        return one

    bound = worst_of(
        [
            pld.from_discrete_laplace_mechanism(0.7, value_discretization_interval=GRID),
            pld.from_gaussian_mechanism(1.6, value_discretization_interval=GRID),
        ],
        GRID,
    ).self_compose(jobs)
    for met in itertools.combinations_with_replacement(["laplace", "gaussian"], jobs):
        first, *rest = map(optimistic, met)
        for other in rest:
            first = first.compose(other, tail_mass_truncation=0)
        for epsilon_ in (0.5, 1.0, 2.0, 4.0):
            assert bound.get_delta_for_epsilon(epsilon_) >= first.get_delta_for_epsilon(epsilon_)

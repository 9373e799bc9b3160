"""Events survive JSON, and hostile data is refused."""

import json
import math

import pytest
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DiscreteLaplaceDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.errors import InputError
from dpfair.privacy.event_json import event_from_json, event_to_json
from dpfair.privacy.events import (
    GridGaussianDpEvent,
    compose,
    gaussian_steps,
    noisy_table,
    parts,
)

positive = st.floats(min_value=1e-6, max_value=1e6)
rates = st.floats(min_value=1e-9, max_value=1.0, exclude_max=True)
leaves = st.one_of(
    positive.map(GaussianDpEvent),
    positive.map(GridGaussianDpEvent),
    st.builds(PoissonSampledDpEvent, rates, positive.map(GaussianDpEvent)),
    st.builds(PoissonSampledDpEvent, rates, positive.map(GridGaussianDpEvent)),
    positive.map(lambda t: DiscreteLaplaceDpEvent(t, 1)),
)
events = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(ComposedDpEvent),
        st.builds(SelfComposedDpEvent, inner, st.integers(1, 100)),
    ),
    max_leaves=6,
)
GAUSSIAN = {"kind": "Gaussian", "noise_multiplier": 2.0}


@settings(max_examples=50, deadline=None)
@given(events)
def test_json_round_trip(event):
    text = json.dumps(event_to_json(event), allow_nan=False)
    assert event_from_json(json.loads(text)) == event


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_json_round_trip_of_what_we_charge(relation):
    event = compose([gaussian_steps(2.0, 0.01, 10), noisy_table("0.1", relation)])
    assert event_from_json(json.loads(json.dumps(event_to_json(event)))) == event


def nested(depth):
    data = GAUSSIAN
    for _ in range(depth):
        data = {"kind": "Repeated", "count": 1, "event": data}
    return data


HOSTILE = {
    "unknown kind": {"kind": "Nothing"},
    "kind of another library": {"kind": "NonPrivateDpEvent"},
    "kind is a list": {"kind": ["Gaussian"], "noise_multiplier": 2.0},
    "no kind": {"noise_multiplier": 2.0},
    "no parameter": {"kind": "Gaussian"},
    "deep nesting": nested(100_000),
    "NaN": {"kind": "Gaussian", "noise_multiplier": math.nan},
    "infinite": {"kind": "Gaussian", "noise_multiplier": math.inf},
    "negative": {"kind": "Gaussian", "noise_multiplier": -1},
    "zero": {"kind": "DiscreteLaplace", "noise_parameter": 0},
    "too large for a float": {"kind": "DiscreteLaplace", "noise_parameter": 10**400},
    "text for a number": {"kind": "Gaussian", "noise_multiplier": "2"},
    "bool for a number": {"kind": "Gaussian", "noise_multiplier": True},
    "grid without noise": {"kind": "GridGaussian", "noise_multiplier": 0},
    "infinite grid": {"kind": "GridGaussian", "noise_multiplier": math.inf},
    "null": {"kind": "Gaussian", "noise_multiplier": None},
    "huge count": {"kind": "Repeated", "count": 10**30, "event": GAUSSIAN},
    "huge float count": {"kind": "Repeated", "count": 1e30, "event": GAUSSIAN},
    "huge product of counts": {
        "kind": "Repeated",
        "count": 10**8,
        "event": {"kind": "Repeated", "count": 10**8, "event": GAUSSIAN},
    },
    "infinite count": {"kind": "Repeated", "count": math.inf, "event": GAUSSIAN},
    "NaN count": {"kind": "Repeated", "count": math.nan, "event": GAUSSIAN},
    "negative count": {"kind": "Repeated", "count": -3, "event": GAUSSIAN},
    "zero count": {"kind": "Repeated", "count": 0, "event": GAUSSIAN},
    "fraction of a count": {"kind": "Repeated", "count": 1.5, "event": GAUSSIAN},
    "text count": {"kind": "Repeated", "count": "3", "event": GAUSSIAN},
    "bool count": {"kind": "Repeated", "count": True, "event": GAUSSIAN},
    "rate above one": {"kind": "PoissonSampled", "sampling_rate": 1.5, "event": GAUSSIAN},
    "rate of zero": {"kind": "PoissonSampled", "sampling_rate": 0, "event": GAUSSIAN},
    "negative rate": {"kind": "PoissonSampled", "sampling_rate": -0.1, "event": GAUSSIAN},
    "sampled Laplace": {
        "kind": "PoissonSampled",
        "sampling_rate": 0.1,
        "event": {"kind": "DiscreteLaplace", "noise_parameter": 1.0},
    },
    "sampled twice": {
        "kind": "PoissonSampled",
        "sampling_rate": 0.1,
        "event": {"kind": "PoissonSampled", "sampling_rate": 0.1, "event": GAUSSIAN},
    },
    "nothing composed": {"kind": "Composed", "events": []},
    "composed text": {"kind": "Composed", "events": "ab"},
    "composed number": {"kind": "Composed", "events": 3},
    "a list": [GAUSSIAN],
    "text": "Gaussian",
    "nothing": None,
    "number": 3,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_json_is_refused(data):
    with pytest.raises(InputError) as caught:
        event_from_json(data)
    assert len(str(caught.value)) < 300


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["kind", "count", "event", "events", "noise_multiplier"]),
                st.one_of(inner, st.sampled_from(["Repeated", "Composed", "Gaussian"])),
                max_size=4,
            ),
        ),
        max_leaves=12,
    )
)
def test_any_json_is_an_event_or_an_input_error(data):
    try:
        event = event_from_json(data)
    except InputError:
        return
    assert min(parts(event).values()) >= 1

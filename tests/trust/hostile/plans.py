"""Charges that were never paid, cost too much to compute, or pay for something else."""

from __future__ import annotations

import copy
from typing import Any

from sample_models import KINDS, put
from trust.hostile.corpus import Attacks, Change

__all__ = ["ATTACKS"]

ATTACKS = Attacks()

Event = dict[str, Any]


def _gaussian(noise: Any = 1e6, kind: str = "GridGaussian") -> Event:
    return {"kind": kind, "noise_multiplier": noise}


def _sampled(rate: Any, noise: Any = 1e6) -> Event:
    return {"kind": "PoissonSampled", "sampling_rate": rate, "event": _gaussian(noise)}


def _repeated(event: Any, count: Any) -> Event:
    return {"kind": "Repeated", "count": count, "event": event}


def _composed(*events: Event) -> Event:
    return {"kind": "Composed", "events": list(events)}


def _laplace(noise: Any) -> Event:
    return {"kind": "DiscreteLaplace", "noise_parameter": noise}


def _nested(depth: int) -> Event:
    event = _gaussian()
    for _ in range(depth):
        event = _repeated(event, 1)
    return event


EVENTS: dict[str, Any] = {
    "a million steps of little noise": _repeated(_sampled(0.5, 0.4), 10**6),
    "a million full steps": _repeated(_gaussian(0.06), 10**6),
    "hardly any noise": _gaussian(0.017),
    "a million steps of hardly enough noise": _repeated(_gaussian(20.0), 10**6),
    "a thousand different sampled steps": _composed(
        *(_repeated(_sampled(0.01 + i * 1e-6, 50.0), 9) for i in range(1000))
    ),
    "ten thousand different steps": _composed(*(_gaussian(1e4 + i) for i in range(10_000))),
    "nothing composed": _composed(),
    "nested four hundred times": _nested(400),
    "sampled Laplace": {"kind": "PoissonSampled", "sampling_rate": 0.1, "event": _laplace(1.0)},
    "unknown event": {"kind": "os.system", "command": "true"},
    "event of another class": {"kind": "Composed", "module_name": "os", "events": "abc"},
    "one of none": {"kind": "OneOf", "events": []},
    "one of two": {"kind": "OneOf", "events": [_gaussian(1e6), _gaussian(1e5)]},
    "event without noise": None,
    "float64 for exact noise": _gaussian(1e6, "Gaussian"),
}
for _times in (10**9, 10**9 + 1, 10**18, 0, -5, 1.5, True, "7"):
    EVENTS[f"{_times!r} repetitions"] = _repeated(_gaussian(), _times)
    EVENTS[f"{_times!r} sampled repetitions"] = _repeated(_sampled(1e-3), _times)
for _noise in (0, -1, 1e-300, 1e-3, 1e300, 1e999, "1", None, True):
    EVENTS[f"Gaussian of {_noise!r}"] = _gaussian(_noise)
    EVENTS[f"sampled Gaussian of {_noise!r}"] = _sampled(0.01, _noise)
    EVENTS[f"Laplace of {_noise!r}"] = _laplace(_noise)
for _rate in (0, -0.5, 1.0, 2, 1e-300, 1e999):
    EVENTS[f"sampling rate {_rate}"] = _repeated(_sampled(_rate, 1.0), 1000)

RUNS = ("search", "steps", 0, "event")
"""Where a search states what its runs may cost."""


def _more_runs(*events: Any) -> Change:
    """More that a run may have cost, in a search that had no room for it."""

    def change(header: dict[str, Any]) -> None:
        header["search"]["steps"][0]["event"]["one_of"] += events
        header["search"]["epsilon"] = "1/100"

    return change


for _name, _event in EVENTS.items():
    ATTACKS.put(f"training: {_name}", "plan", "steps", 0, "event", value=_event)
    ATTACKS.edit(f"a run: {_name}", _more_runs(_event), of="search")
for _noise in (0, -1, 1e-300, 1e-5, 1e-3, 50.0, 1e308, None, "1"):
    for _of in ("placed", "bands", "flips", "rates"):
        _last = {"flips": 1, "rates": 0}.get(_of, 2)
        ATTACKS.put(
            f"{_of}: counts of noise {_noise!r}",
            *("plan", "steps", _last, "event", "noise_parameter"),
            value=_noise,
            of=_of,
        )


# Settings and charges that agree: only their cost gives them away


def _descent(steps: int, noise: float, rate: float | None = None, epsilon: str = "2") -> Change:
    """A training with this noise, as its settings say."""

    def change(header: dict[str, Any]) -> None:
        header["settings"].update(steps=steps, noise_multiplier=noise)
        header["plan"]["epsilon"] = epsilon
        event = _gaussian(noise)
        if rate is not None:
            header["settings"].update(solver="sgd", batch_size=int(rate * 10**6))
            header["schema"]["rows"] = 10**6
            event = _sampled(rate, noise)
        header["plan"]["steps"][0]["event"] = _repeated(event, steps)

    return change


for _case in (
    (10**9 + 1, 1e6),
    (10**9, 600.0),
    (10**6, 20.0),
    (1, 0.017),
    (1, 1e-300),
    (1, 1e300),
    (20, 5.0),
    (10**6, 0.4, 0.5),
    (2 * 10**6, 25.0, 0.5),
    (2 * 10**6, 0.3, 1e-4),
    (2 * 10**6, 0.06, 1e-4),
    (2 * 10**6 + 1, 1e6, 0.5),
    (10**9, 1e6, 0.5),
):
    ATTACKS.edit(f"descent of {_case}", _descent(*_case), of="logistic, noise given")
ATTACKS.edit(
    "descent that costs thousands", _descent(1, 0.02, epsilon="5000"), of="logistic, noise given"
)


# Steps

FREE = {"name": "more", "scope": "", "purpose": "free", "event": _laplace(1e-9)}


def _steps(name: str, change: Any, of: str = "placed") -> None:
    ATTACKS.edit(name, lambda header: change(header["plan"]["steps"]), of=of)


for _of in KINDS:
    ATTACKS.put(f"{_of}: other shares", "plan", "shares", value={"": 0.5, "a": 0.5}, of=_of)
    ATTACKS.put(f"{_of}: protects nothing", "plan", "protects", value="nothing", of=_of)
    _steps(f"{_of}: one step more", lambda steps: steps.append(FREE), of=_of)
    if _of in ("exact rates", "algorithm 1", "published penalty"):  # these pay for nothing
        continue
    _steps(f"{_of}: last step never paid", lambda steps: steps.pop(), of=_of)
    _steps(f"{_of}: nothing ever paid", lambda steps: steps.clear(), of=_of)
    _steps(f"{_of}: paid twice", lambda steps: steps.append(steps[0]), of=_of)
    _steps(f"{_of}: renamed", lambda steps: steps[0].update(name="free"), of=_of)
    if _of != "logistic, noise given":  # where the budget need not be used up
        ATTACKS.put(f"{_of}: a smaller budget", "plan", "epsilon", value="1/2", of=_of)
        ATTACKS.put(f"{_of}: a larger budget", "plan", "epsilon", value="9", of=_of)
_steps("training never paid", lambda steps: steps.pop(0))
_steps("planning never paid", lambda steps: steps.pop(1))
_steps("check never paid", lambda steps: steps.pop(), of="check")
_steps("more noise than was drawn", lambda steps: steps[0].update(event=_gaussian(1e6)))
for _scope in ("release", "", "elsewhere", "train/a//b", "../train", "train\u200b", 7):
    _steps(f"training on {_scope!r}", lambda steps, scope=_scope: steps[0].update(scope=scope))
_steps("everything in one scope", lambda steps: [step.update(scope="") for step in steps])
_steps("five thousand charges", lambda steps: steps.extend(steps[-1:] * 5000))
_steps(
    "three thousand different charges",
    lambda steps: steps.extend(
        steps[0] | {"name": f"train {i}", "event": _gaussian(1e5 + i)} for i in range(3000)
    ),
)
_steps("a purpose for the terminal", lambda s: s[0].update(purpose="\x1b[2J\x1b[31mroot\n" * 2000))
ATTACKS.edit(
    "training of nobody",
    lambda header: header["plan"]["shares"].update(nobody=0.0),
    lambda header: header["plan"]["steps"][0].update(scope="nobody"),
)
ATTACKS.put("ten thousand scopes", "plan", "shares", value={f"s{i}": 1e-4 for i in range(10**4)})

# The budget

for _epsilon in ("1e999999999", "-2", "0", "inf", "nan", "1/0", "9" * 5000, "1e-999999999", "2.0"):
    ATTACKS.put(f"budget {_epsilon[:14]!r}", "plan", "epsilon", value=_epsilon)
ATTACKS.put("budget of many digits", "plan", "epsilon", value="1/" + "3" * 10**6)
for _epsilon in (2, 2.0, None, ["2"]):
    ATTACKS.put(f"budget {_epsilon!r}, no text", "plan", "epsilon", value=_epsilon)
for _delta in (0, 1, -1e-5, 1e-320, 1e999, "0", 1e-9, 0.5):
    ATTACKS.put(f"delta {_delta!r}", "plan", "delta", value=_delta)
for _rows in (0, -1, 2, 10**9, 10**400, "x", 1.5):
    ATTACKS.put(f"{repr(_rows)[:12]} rows per unit", "plan", "rows_per_unit", value=_rows)
ATTACKS.put("a record less of a person", "plan", "rows_per_unit", value=1, of="persons")
for _relation in ("replace_one", "none", None):
    ATTACKS.put(f"relation {_relation}", "plan", "relation", value=_relation)
ATTACKS.put("neighbours that differ less", "plan", "relation", value="add_remove", of="replaced")
for _composition in ("basic", "adaptive", "none"):
    ATTACKS.put(f"composition {_composition}", "plan", "composition", value=_composition)
ATTACKS.put("tight composition", "plan", "composition", value="tight", of="public sizes")


# Searches

for _mean in (0.5, 1, -3, 1e5, 1e4, 1e300, 1e999, "2", True):
    ATTACKS.put(f"search of {_mean!r} runs", *RUNS, "mean", value=_mean, of="search")
for _shape in (-1, 2, 1e999, None, "0"):
    ATTACKS.put(f"search of shape {_shape!r}", *RUNS, "shape", value=_shape, of="search")
ATTACKS.put("search among none", *RUNS, "one_of", value=[], of="search")
ATTACKS.put("search among other runs", *RUNS, "one_of", value=[_laplace(0.1)], of="search")
for _name, _events in {
    "different": [_repeated(_sampled(0.01 + i * 1e-6, 60.0 + i), 50) for i in range(9000)],
    "equal": [_repeated(_sampled(0.01, 60.0), 50)] * 9000,
    "composed": [_composed(_gaussian(1e3 + i % 99), _gaussian(2e3 + i // 99)) for i in range(9000)],
    "full": [_gaussian(1e3 + i) for i in range(9000)],
}.items():
    ATTACKS.edit(f"search among {len(_events)} {_name} runs", _more_runs(*_events), of="search")
ATTACKS.edit(
    "search of searches",
    lambda header: _more_runs(copy.deepcopy(header["search"]["steps"][0]["event"]))(header),
    of="search",
)
for _name, _change in {
    "nothing": put("search", "steps", value=[]),
    "two steps": lambda header: header["search"]["steps"].extend(header["search"]["steps"]),
    "no runs": put("search", "steps", 0, "event", value=_gaussian()),
    "another step": put("search", "steps", 0, "name", value="train"),
    "another purpose": put("search", "steps", 0, "purpose", value="free"),
    "a part of the records": put("search", "shares", value={"": 0.5}),
    "an attribute": put("search", "protects", value="sex"),
    "another delta": put("search", "delta", value=1e-3),
    "another relation": put("search", "relation", value="replace_one"),
    "other persons": put("search", "rows_per_unit", value=2),
    "basic composition": put("search", "composition", value="basic"),
    "a budget that is too small": put("search", "epsilon", value="1"),
}.items():
    ATTACKS.edit(f"search of {_name}", _change, of="search")
    ATTACKS.edit(f"search of penalties, of {_name}", _change, of="search of penalties")
ATTACKS.edit(
    "a search that did not lead here",
    lambda header: header.update(search=copy.deepcopy(header["plan"])),
)

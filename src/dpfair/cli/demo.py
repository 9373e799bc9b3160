"""``dpfair demo``: the whole path on a shipped data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dpfair import validate
from dpfair.cli.looks import print_facts, print_styled
from dpfair.cli.next_steps import print_next_steps
from dpfair.cli.options import AsJson, Delta, Seed
from dpfair.cli.output import (
    check_writable,
    fit_summary,
    interactive,
    make_folder,
    print_account,
    print_json,
)


def demo(
    dataset: Annotated[str, typer.Option(help="{datasets}.")] = "adult",
    epsilon: Annotated[float, typer.Option(help="The privacy budget.")] = 3.0,
    delta: Delta = 1e-5,
    seed: Seed = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("dpfair-demo"),
    as_json: AsJson = False,
) -> None:
    """Train, certify, save and report a model on shipped data, and test it on a quarter of it."""
    from dpfair.datasets import DATASETS

    validate.one_of(DATASETS, dataset=dataset)
    validate.positive(epsilon=epsilon)
    validate.in_open_interval(0, 1, delta=delta)
    make_folder(out)
    check_writable(out / "model.dpfair", out / "report.html")

    from dpfair.certificate.text import round_down, round_up
    from dpfair.evaluation import evaluate
    from dpfair.methods.fair_classifier import PrivateFairClassifier
    from dpfair.models.file import save_model
    from dpfair.privacy.noise import Noise
    from dpfair.privacy.split import coin_split
    from dpfair.report import write_report

    data = DATASETS[dataset].load()
    # The model must not see the coins of the split again.
    split_noise = Noise(None if seed is None else seed + 1)
    rows = coin_split(len(data.y), {"fit": 0.75, "test": 0.25}, split_noise)
    model = PrivateFairClassifier(
        epsilon,
        delta,
        schema=replace(data.schema, rows=len(rows["fit"])),
        verbose=interactive(),
        random_state=seed,
    )
    model.fit(data.X[rows["fit"]], data.y[rows["fit"]])
    measured = evaluate(model, data.X[rows["test"]], data.y[rows["test"]])
    model_path = save_model(model, out / "model.dpfair")
    report_path = write_report(model, out / "report.html", measured)
    if as_json:
        files = {"model": str(model_path), "report": str(report_path)}
        print_json({"dataset": dataset, **fit_summary(model), "evaluation": measured, **files})
        return
    fairness = model.certificate_.fairness
    confidence = f"{100 * fairness.confidence:.10g}%"
    worst = _certified(fairness.gap_bound, round_up)
    sure = _certified(fairness.accuracy_bound, round_down)
    facts = [
        ("accuracy", f"{measured['accuracy']:.4f}"),
        (
            "gap",
            f"{measured['gap']:.4f}   on the test records, chance included: a perfectly fair rule "
            f"shows {measured['floor']:.4f} on average",
        ),
        ("certified gap", f"{worst}   for new records, with {confidence} confidence"),
        ("cert. accuracy", f"{sure}   for new records, with {confidence} confidence"),
        ("privacy", f"epsilon {epsilon:g}, delta {delta:g}, for every feature of every record"),
    ]
    facts += [
        (name, f"judged {judged.grade}: {judged.rule}")
        for name, judged in model.certificate_.judgements.items()
        if judged is not None
    ]
    title = f"{dataset}: trained on {len(rows['fit'])} records, tested on {measured['n']}"
    print_facts(facts, [title, *(f"  {name:<15} {text}" for name, text in facts)], title=title)
    print()
    print_account(model.ledger_, "Privacy account")
    private = model.certificate_.privacy.private
    if not private:
        print()
        print_styled("NOT PRIVATE: the noise came from a seed.")
    print(f"\nModel:  {model_path}\nReport: {report_path}   (open it in a browser)")
    print_next_steps(model, dataset, model_path, report_path, None)


def _certified(bound: float | None, printed: Callable[[float], str]) -> str:
    return "none  " if bound is None else printed(bound)

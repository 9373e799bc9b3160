"""``dpfair benchmark``: our classifier on fresh splits of a shipped data set."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpfair import validate
from dpfair.cli.cluster import DaskForRuns, runs_on
from dpfair.cli.looks import print_table
from dpfair.cli.options import AsJson, Delta
from dpfair.cli.output import print_json
from dpfair.cli.progress import progress_bar


def benchmark(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="{datasets}.")],
    epsilon: Annotated[float, typer.Option(help="The privacy budget of each fit.")],
    seeds: Annotated[str, typer.Option(help="Splits, such as 1000-1049.")] = "1000-1049",
    method: Annotated[str, typer.Option(help="{methods}.")] = "fair",
    mode: Annotated[str, typer.Option(help="certified, reuse or batch.")] = "certified",
    notion: Annotated[str, typer.Option(help="{notions}.")] = "demographic_parity",
    tolerance: Annotated[float, typer.Option(help="The largest gap allowed.")] = 0.0,
    sensitive: Annotated[
        str | None, typer.Option(help="The column with the groups, or several: sex,race.")
    ] = None,
    trees: Annotated[bool, typer.Option("--trees", help="Boosted trees on top.")] = False,
    facts: Annotated[
        str, typer.Option(help="Of the schema: all, not spiky, or bounds (and categories).")
    ] = "all",
    delta: Delta = 1e-5,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 2,
    dask: DaskForRuns = None,
    as_json: AsJson = False,
) -> None:
    """Fit on three quarters of public data, test on the rest, many times. Seeded, not private."""
    validate.positive(epsilon=epsilon)
    validate.in_open_interval(0, 1, delta=delta)
    validate.at_least(1, jobs=jobs)

    from dpfair.experiments.benchmark import Setting, parse_seeds, run_benchmark, summary

    chosen = parse_seeds(seeds)
    setting = Setting(
        dataset,
        epsilon,
        mode=mode,
        notion=notion,
        tolerance=tolerance,
        method=method,
        sensitive=tuple(sensitive.split(",")) if sensitive else (),
        trees=trees,
        delta=delta,
        facts=facts,
    )
    with runs_on(dask), progress_bar("splits", len(chosen)) as progress:
        runs = run_benchmark(setting, chosen, jobs=jobs, progress=progress)
    result = summary(setting, runs)
    if as_json:
        print_json({**result, "runs": runs})
        return
    how = f", {mode}" if "mode" in setting.classifier(0).get_params() else ""
    title = f"{dataset}, epsilon {epsilon:g}, {method}{how}: {len(runs)} splits, seeds {seeds}"
    plain = [title, *(f"  {line}" for line in lines(result))]
    print_table(("what", "mean", "error", ""), cells(result), plain, title=title)


def lines(result: dict[str, Any]) -> list[str]:
    """A line per number, with its standard error."""
    found = []
    for title, mean, error, note in cells(result):
        precision = f" ± {error}" if error else ""
        found.append(f"{title:<28} {mean:>7}{precision}   {note}".rstrip())
    return found


def cells(result: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Every number that there is: what it is, its mean, its standard error, how to read it."""
    shown = [
        ("accuracy", "accuracy", ""),
        ("gap", f"gap ({result['notion'].replace('_', ' ')})", ""),
        ("floor", "floor of the gap", "what a fair rule shows on as many records"),
        ("signed_gap", "signed gap", "first group minus second"),
        ("certified_gap", "certified gap", ""),
        ("certified_accuracy", "certified accuracy", ""),
    ]
    found = []
    for name, title, note in shown:
        if result[name] is None:
            continue
        error = result.get(f"{name}_error")
        printed = "" if error is None else f"{error:.4f}"
        found.append((title, f"{result[name]:.4f}", printed, note))
    return found

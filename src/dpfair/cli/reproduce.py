"""``dpfair reproduce``: the paper's tables, regenerated and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfair import validate
from dpfair.cli.cluster import DaskForRuns, runs_on
from dpfair.cli.options import AsJson
from dpfair.cli.output import check_writable, make_folder, print_json, say
from dpfair.cli.progress import progress_bar


def reproduce(
    table: Annotated[
        str | None, typer.Option(help="One table, such as adult-3-prv. Default: all twelve.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Only {datasets}.")] = None,
    data: Annotated[
        str,
        typer.Option(
            help="paper: the authors' file, split and noise. honest: distinct records, "
            "fresh splits, noise calibrated again."
        ),
    ] = "paper",
    fermi: Annotated[
        str | None,
        typer.Option(help="DP-FERMI as reference (default for paper), paper or tight (honest)."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs per row.")] = 10,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 2,
    dask: DaskForRuns = None,
    out: Annotated[Path, typer.Option(help="The folder for results.")] = Path(
        "dpfair-reproduction"
    ),
    as_json: AsJson = False,
) -> None:
    """Regenerate the paper's tables next to the published numbers. Seeded runs, public data."""
    if dataset is not None:
        from dpfair.datasets import DATASETS

        validate.one_of(DATASETS, dataset=dataset)
    validate.one_of(("paper", "honest"), data=data)
    validate.at_least(1, seeds=seeds, jobs=jobs)
    variant = fermi or ("reference" if data == "paper" else "tight")
    validate.one_of(("reference", "paper", "tight"), fermi=variant)

    from dpfair.experiments.output import NAMES, markdown, write_outputs
    from dpfair.experiments.runner import FILE, plan_runs, run_all
    from dpfair.experiments.summary import summarise
    from dpfair.experiments.tables import select_tables

    tables = select_tables(table, dataset)
    make_folder(out)
    check_writable(*(out / name for name in (FILE, *NAMES)))
    runs = plan_runs(tables, data, range(seeds), variant)
    with runs_on(dask), progress_bar("runs", len(runs)) as progress:
        results = run_all(runs, out, jobs=jobs, progress=progress)
    summary = summarise(tables, results, data, range(seeds), variant)
    title = f"The paper's tables, {data} data, {seeds} seeds"
    paths = write_outputs(summary, out, title)
    if as_json:
        print_json({"data": data, "rows": [r.to_json() for s in summary for r in s.rows]})
        return
    print(markdown(summary))
    say(f"dpfair: {len(runs)} runs; written: {', '.join(str(p) for p in paths)}.")

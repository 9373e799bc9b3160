"""Many runs in parallel, each finished run kept, so that an interruption loses only a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dpfair import __version__
from dpfair.errors import InputError
from dpfair.experiments.runs import Run, execute
from dpfair.experiments.tables import Table

__all__ = ["FILE", "Keyed", "finished_runs", "plan_runs", "run_all"]

FILE = "runs.jsonl"


class Keyed(Protocol):
    """A run: its key names everything that its result depends on."""

    @property
    def key(self) -> str: ...


AnyRun = TypeVar("AnyRun", bound=Keyed)


def plan_runs(
    tables: Sequence[Table], data: str, seeds: Iterable[int], variant: str | None = None
) -> list[Run]:
    """The distinct runs that the tables need.

    DP-FERMI does not depend on the accountant of a table, so its rows are shared. On the authors'
    data it runs as published, on honest data in its sound form, unless ``variant`` says otherwise.
    """
    variant = variant or ("reference" if data == "paper" else "tight")
    wanted: dict[Run, None] = {}
    for table in tables:
        for row in table.rows:
            for seed in seeds:
                wanted[run_of(table, row.method, row.weight, data, seed, variant)] = None
    return list(wanted)


def run_of(table: Table, method: str, weight: float, data: str, seed: int, variant: str) -> Run:
    """The run behind one row and one seed."""
    if method == "dp_fermi":
        return Run(method, table.dataset, data, table.epsilon, table.epochs, seed, weight, variant)
    return Run(
        method,
        table.dataset,
        data,
        table.epsilon,
        table.epochs,
        seed,
        noise_std=table.noise_std if data == "paper" else None,
        release_epsilon=table.release_epsilon,
    )


def run_all(
    runs: Sequence[AnyRun],
    folder: Path,
    *,
    jobs: int,
    progress: Callable[[int], None] | None = None,
    execute: Callable[[AnyRun], dict[str, Any]] = execute,  # type: ignore[assignment]
) -> dict[str, dict[str, Any]]:
    """Execute what is not finished yet and return all results by run key.

    Every result depends on its run alone, so a resumed set of runs ends as an uninterrupted one.
    """
    from joblib import Parallel, delayed

    folder.mkdir(parents=True, exist_ok=True)
    results = finished_runs(folder)
    left = [run for run in runs if run.key not in results]
    if progress is not None:
        progress(len(runs) - len(left))
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    with (folder / FILE).open("a", encoding="utf-8") as file:
        for key, result in parallel(delayed(_keyed)(execute, run) for run in left):
            results[key] = result
            file.write(json.dumps({"key": key, "version": __version__, **result}) + "\n")
            file.flush()
            os.fsync(file.fileno())
            if progress is not None:
                progress(1)
    return {run.key: results[run.key] for run in runs}


def finished_runs(folder: Path) -> dict[str, dict[str, Any]]:
    """What an earlier call of this version has finished; a torn last line is dropped."""
    path = folder / FILE
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    results, kept = {}, []
    for number, line in enumerate(lines):
        try:
            entry = json.loads(line)
            key, version = entry.pop("key"), entry.pop("version")
        except (ValueError, KeyError, AttributeError) as error:
            if number == len(lines) - 1:
                break
            raise InputError(f"The file {path} is damaged in line {number + 1}.") from error
        kept.append(line)
        if version == __version__:
            results[key] = entry
    if len(kept) < len(lines):
        path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
    return results


def _keyed(execute: Callable[[AnyRun], dict[str, Any]], run: AnyRun) -> tuple[str, dict[str, Any]]:
    return run.key, execute(run)

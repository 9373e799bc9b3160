"""``dpfair account``: what noise costs, by every accountant."""

from __future__ import annotations

from typing import Annotated

import typer

from dpfair import validate
from dpfair.cli.looks import print_table
from dpfair.cli.options import AsJson
from dpfair.cli.output import print_json
from dpfair.errors import InputError


def account(
    sampling_rate: Annotated[float, typer.Option(help="Chance of a record to be in a step.")],
    steps: Annotated[int, typer.Option(help="The number of steps.")],
    delta: Annotated[float, typer.Option(help="The delta of the guarantee.")],
    noise_multiplier: Annotated[
        float | None, typer.Option(help="Standard deviation of the noise over the clipping norm.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Find the noise multiplier for this budget instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The epsilon of noisy gradient steps, by every accountant side by side."""
    if (noise_multiplier is None) == (epsilon is None):
        raise InputError("Give either --noise-multiplier or --epsilon.")
    validate.in_open_interval(0, 1, delta=delta)
    validate.positive(sampling_rate=sampling_rate)
    if sampling_rate > 1:
        raise InputError(f"Expected sampling_rate <= 1, got {sampling_rate}.")
    validate.at_least(1, steps=steps)

    from dpfair.privacy.accountants import ACCOUNTANTS, calibrate, epsilons
    from dpfair.privacy.events import gaussian_steps

    if noise_multiplier is None:
        assert epsilon is not None
        noise_multiplier = calibrate(epsilon, delta, sampling_rate, steps)
    answers = epsilons(gaussian_steps(noise_multiplier, sampling_rate, steps), delta)
    missing = {n: row.how_to_install for n, row in ACCOUNTANTS.items() if not row.installed}
    if as_json:
        print_json(
            {
                "noise_multiplier": noise_multiplier,
                "sampling_rate": sampling_rate,
                "steps": steps,
                "delta": delta,
                "accountants": {
                    name: {"epsilon": a.epsilon, "is_bound": a.is_bound}
                    for name, a in answers.items()
                },
                "not_installed": missing,
            }
        )
        return
    title = f"noise multiplier {noise_multiplier:.4f}, rate {sampling_rate:g}, {steps} steps"
    plain, rows = [title], []
    for name, answer in answers.items():
        note = "" if answer.is_bound else "an approximation, NOT a guarantee"
        plain.append(f"  {name}  epsilon {answer.epsilon:.4f}   {note}".rstrip())
        rows.append((name, f"{answer.epsilon:.4f}", note))
    for name, command in missing.items():
        plain.append(f"  {name}  not installed; run {command}")
        rows.append((name, "", f"not installed; run {command}"))
    print_table(("accountant", "epsilon", ""), rows, plain, title=title)

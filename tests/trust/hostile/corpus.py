"""Honest files, and short ways to write down what an attacker changes in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import sample_models
from safetensors.numpy import load
from sample_models import KINDS, fitted, rewritten

from dpfair.models.file import model_bytes

__all__ = ["Attacks", "Build", "Change", "Honest", "honest_files"]

Honest = Mapping[str, bytes]
Build = Callable[[Honest], bytes]
Change = Callable[[dict[str, Any]], object]


def honest_files() -> dict[str, bytes]:
    """An honest file of every method and variant."""
    return {kind: model_bytes(fitted(kind)) for kind in KINDS}


class Attacks(dict[str, Build]):
    """Attacks by name: each makes a hostile file of honest ones."""

    def __setitem__(self, name: str, build: Build) -> None:
        assert name not in self, name
        super().__setitem__(name, build)

    def edit(self, name: str, *changes: Change, of: str = "placed") -> None:
        """An honest header after some changes."""

        def change(header: dict[str, Any]) -> None:
            before = json.dumps(header)
            for one in changes:
                one(header)
            assert json.dumps(header) != before, name

        self[name] = lambda honest: rewritten(honest[of], change)

    def put(self, name: str, *path: Any, value: Any, of: str = "placed") -> None:
        """One entry of an honest header replaced."""
        self.edit(name, sample_models.put(*path, value=value), of=of)

    def say(self, name: str, text: Callable[[str], str], of: str = "placed") -> None:
        """An honest header in other words."""
        self[name] = lambda honest: rewritten(honest[of], text=text)

    def weigh(self, name: str, change: Callable[[Any], Any], tensor: str, of: str) -> None:
        """An honest header with other numbers of the scorer."""
        self[name] = lambda honest: rewritten(
            honest[of], tensors={tensor: change(load(honest[of]).get(tensor))}
        )

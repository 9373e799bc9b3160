"""DP-FERMI (Lowy, Gupta, Razaviyayn 2023): private training with a chi-square penalty."""

from __future__ import annotations

from dpfair.methods.dp_fermi.method import DPFermi

__all__ = ["DPFermi"]

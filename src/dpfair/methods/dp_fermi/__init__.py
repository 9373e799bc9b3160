"""DP-FERMI (Lowy, Gupta, Razaviyayn 2023): private training with a chi-square penalty."""

"""Privacy costs and noise. Nothing here depends on fairness."""

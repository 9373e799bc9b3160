"""What privacy costs and where noise comes from; knows nothing of fairness."""

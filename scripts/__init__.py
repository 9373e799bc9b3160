"""Programs that write pages, run measurements and check releases."""

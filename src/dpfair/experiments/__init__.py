"""The paper's experiments: its twelve tables as data, and the runs that regenerate them."""

"""What dpfair costs, and what others cost. Not part of the wheel."""

"""What a fitted model promises, and how it is said."""

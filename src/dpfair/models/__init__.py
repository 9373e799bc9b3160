"""Models on disk, and their verification."""

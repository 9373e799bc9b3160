"""Looking for privacy bugs: by replay, which needs no statistics, and by sampling."""

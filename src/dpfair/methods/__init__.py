"""Published methods, one file each: mostly configurations of the shared parts."""

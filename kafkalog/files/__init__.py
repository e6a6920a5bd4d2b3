"""Files and directories: names, read-only opening, object stores, pipes."""

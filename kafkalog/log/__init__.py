"""Files and directories: names, read-only opening, segments."""

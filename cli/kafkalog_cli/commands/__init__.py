"""The commands, one module each, loaded when called."""

"""Bundles: what is copied out of log directories to be sent, with a manifest that says what it is."""

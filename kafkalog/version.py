"""The version, alone, so that showing it imports nothing else."""

VERSION = "0.1.0"

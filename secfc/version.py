"""The version, for whoever must not import the whole package."""

VERSION = "0.1.0"

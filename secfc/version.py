"""The version, for modules that must not import the whole package."""

VERSION = "0.1.0"

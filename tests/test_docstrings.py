"""Examples in docstrings print what they show."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import plaintext_baselines
import secfc

PACKAGES = [Path(package.__file__).parent for package in (secfc, plaintext_baselines)]
WITH_EXAMPLES = [
    ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
    for package in PACKAGES
    for path in sorted(package.rglob("*.py"))
    if re.search(r">>> (?!.*doctest: \+SKIP)", path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_a_module_print_what_they_show(name):
    failed, tried = doctest.testmod(import_module(name))
    assert tried
    assert not failed


def test_modules_with_examples_are_found():
    assert {"secfc.api.run", "plaintext_baselines.exact_lloyd"} < set(WITH_EXAMPLES)

"""Only the public arrays and bytes that are listed here are in the repr of a dataclass."""

import dataclasses
import importlib
import pkgutil

import secfc

PUBLIC = {
    "Assigned": {"sizes"},
    "Quotients": {"sizes"},
    "Outcome": {"sizes"},
    "Result": {"sizes"},
    "RunTerms": {"digest"},
    "Stable": {"jaccard"},
}


def modules():
    for found in pkgutil.walk_packages(secfc.__path__, "secfc."):
        if found.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if (error.name or "secfc").partition(".")[0] == "secfc":
                raise  # others are extras that are not installed here


def shown(kind):
    """Fields with arrays or bytes that a class's generated repr shows."""
    if not hasattr(kind.__repr__, "__wrapped__"):  # written by hand
        return set()
    return {
        field.name
        for field in dataclasses.fields(kind)
        if field.repr and any(one in str(field.type).lower() for one in ("ndarray", "bytes", "memoryview"))
    }


def test_no_repr_shows_arrays_or_bytes_that_are_not_public():
    found = {}
    for module in modules():
        for kind in vars(module).values():
            own = isinstance(kind, type) and kind.__module__ == module.__name__
            if own and dataclasses.is_dataclass(kind) and (fields := shown(kind)):
                found[kind.__name__] = fields
    assert found == PUBLIC


def test_a_field_that_is_shown_would_be_found():
    @dataclasses.dataclass
    class Open:
        rows: bytes
        hidden: bytes = dataclasses.field(repr=False)

    assert shown(Open) == {"rows"}

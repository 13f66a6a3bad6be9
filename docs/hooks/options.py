"""Shows the options of a call or a class in the API, from its docstring and constructor at run time."""

import inspect
import re
from dataclasses import is_dataclass

import griffe

import secfc
from secfc.protocol.job.options import options_of

_KINDS = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
    inspect.Parameter.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
}


_RARE = {
    *("warm_start", "precision", "step", "disclosure", "tol_moved", "max_liars", "comparers", "committee"),
    *("driver", "threads", "deadline"),
}
"""Options that few runs need. They are shown after the others."""


class Options(griffe.Extension):
    """Expands what `secfc.api.described` gives a docstring, and a constructor of a dataclass."""

    def on_function(self, *, func, **_):
        """Expand the docstring of a call."""
        shown = _public(func)
        if shown is not None and func.docstring is not None:
            func.docstring.value = _daily_first(inspect.getdoc(shown))

    def on_class_members(self, *, cls, **_):
        """Expand a class that inherits options."""
        shown = _public(cls)
        if shown is not None and is_dataclass(shown) and options_of(shown):
            own = [griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)]
            parameters = griffe.Parameters(*own, *_parameters(shown))
            cls.set_member("__init__", griffe.Function("__init__", parameters=parameters, parent=cls))
            cls.docstring.value = _daily_first(inspect.getdoc(shown))


def _public(of):
    """What the package exports under a name, if it is this."""
    shown = getattr(secfc, of.name, None)
    return shown if of.path == f"{getattr(shown, '__module__', '')}.{of.name}" else None


def _daily_first(text):
    """A docstring whose rare options are a section of their own."""
    before, title, after = text.partition("Parameters\n----------\n")
    options, blank, after = after.partition("\n\n")
    sections = ["", ""]
    for one in re.split(r"\n(?=\S)", options):
        sections[one.split(" : ")[0] in _RARE] += f"{one}\n"
    daily, rare = sections
    if rare:
        rare = f"\nOther Parameters\n----------------\n{rare}"
    return f"{before}{title}{daily}{rare}{blank}{after}"


def _parameters(shown):
    return griffe.Parameters(
        *(
            griffe.Parameter(
                one.name,
                kind=_KINDS[one.kind],
                default=None if one.default is inspect.Parameter.empty else repr(one.default),
            )
            for one in inspect.signature(shown).parameters.values()
        )
    )

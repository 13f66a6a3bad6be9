"""Shows the options of a call or a class in the API, from its docstring and constructor at run time."""

import inspect
from dataclasses import is_dataclass

import griffe

import secfc
from secfc.protocol.job.options import options_of

_KINDS = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
    inspect.Parameter.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
}


class Options(griffe.Extension):
    """Expands what `secfc.api.described` gives a docstring, and a constructor of a dataclass."""

    def on_function(self, *, func, **_):
        """Expand the docstring of a call."""
        shown = _public(func)
        if shown is not None and func.docstring is not None:
            func.docstring.value = inspect.getdoc(shown)

    def on_class_members(self, *, cls, **_):
        """Expand a class that inherits options."""
        shown = _public(cls)
        if shown is not None and is_dataclass(shown) and options_of(shown):
            own = [griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)]
            parameters = griffe.Parameters(*own, *_parameters(shown))
            cls.set_member("__init__", griffe.Function("__init__", parameters=parameters, parent=cls))
            cls.docstring.value = inspect.getdoc(shown)


def _public(of):
    """What the package exports under a name, if it is this."""
    shown = getattr(secfc, of.name, None)
    return shown if of.path == f"{getattr(shown, '__module__', '')}.{of.name}" else None


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

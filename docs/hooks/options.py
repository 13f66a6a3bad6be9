"""Shows ``**options: Unpack[...]`` in the API as the keywords of the call's signature at run time."""

import inspect

import griffe

import secfc


class Options(griffe.Extension):
    """Expands calls of `secfc` that `secfc._options.taking` has given a signature."""

    def on_function(self, *, func, **_):
        """Expand one."""
        if "options" not in func.parameters or func.parameters["options"].annotation is None:
            return
        shown = getattr(secfc, func.name, None)
        if shown is None or func.path != f"{shown.__module__}.{shown.__qualname__}":
            return
        del func.parameters["options"]
        for one in list(inspect.signature(shown).parameters.values())[len(func.parameters) :]:
            func.parameters.add(
                griffe.Parameter(one.name, kind=griffe.ParameterKind.keyword_only, default=repr(one.default))
            )

"""Checks of single values, before they are parameters of a job or limits of a party."""

from secfc.errors import ParameterError
from secfc.protocol.job.options import Option
from secfc.protocol.job.retired import retired_choice


def check_positive(name: str, value: object) -> None:
    """Raise ParameterError unless a value is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(f"{name}: an integer is needed, {type(value).__name__} was given")
    if value < 1:
        raise ParameterError(f"{name}: at least 1 is needed, {value} was given")


def check_bool(name: str, value: object) -> None:
    """Raise ParameterError unless a value is a bool."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name}: a bool is needed, {type(value).__name__} was given")


def check_share(name: str, value: object) -> None:
    """Raise ParameterError unless a value is a number above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{name}: a number is needed, {type(value).__name__} was given")
    if not 0 < value <= 1:
        raise ParameterError(f"{name}: more than 0 and at most 1 is needed, {value!r} was given")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ParameterError unless a value is one of the choices."""
    if value not in choices:
        allowed = ", ".join(map(repr, choices))
        instead = retired_choice(name, value)
        raise ParameterError(
            f"{name}: {allowed} are possible, {value!r} was given" + (f"; {instead}" if instead else "")
        )


def check_option(name: str, value: object, option: Option, choices: tuple[str, ...]) -> None:
    """Raise ParameterError unless a value is one of an option's choices and in its range."""
    if choices:
        check_choice(name, value, choices)
    if option.least == 1:
        check_positive(name, value)
    elif option.least == 0 and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise ParameterError(f"{name}: an integer >= 0 is needed, {value!r} was given")
    if option.below is not None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError(f"{name}: a number is needed, {type(value).__name__} was given")
        if not 0 <= value < option.below:
            raise ParameterError(
                f"{name}: at least 0 and less than {option.below} is needed, {value!r} was given"
            )
    if option.most is not None and isinstance(value, int) and value > option.most:
        raise ParameterError(f"{name}: at most {option.most} {option.unit}, {value} was given")


def check_seed(seed: object) -> None:
    """Raise ParameterError unless this is None or an integer of at least 0."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ParameterError("seed: None or an integer >= 0 is needed")

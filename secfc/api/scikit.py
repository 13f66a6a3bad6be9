"""What models use of scikit-learn, with types. Without it no model can be made: the error names the extra."""

from typing import TYPE_CHECKING, Any, Self

from secfc.errors import missing

if TYPE_CHECKING:  # scikit-learn has no stubs; with untyped bases a type checker accepts any arguments

    class BaseEstimator:
        """The members of scikit-learn's class that models use."""

        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Parameters by name."""

        def set_params(self, **params: Any) -> Self:
            """Set parameters."""

        def __sklearn_tags__(self) -> Any: ...

    class ClusterMixin:
        """The members of scikit-learn's class that models use."""

        def fit_predict(self, X: Any, y: None = None, **kwargs: Any) -> list[Any]:
            """Fit and return `labels_`."""

    class TransformerMixin:
        """The members of scikit-learn's class that transformers use."""

        def __init_subclass__(cls, *, auto_wrap_output_keys: tuple[str, ...] | None = ()) -> None: ...
        def fit_transform(self, X: Any, y: None = None, **kwargs: Any) -> Any:
            """Fit, and transform the same rows."""

    class NotFittedError(ValueError, AttributeError):
        """A model is used before it is fitted."""

    def check_is_fitted(estimator: object) -> None:
        """Raise NotFittedError if it is not fitted."""

    def pairwise_distances_argmin(X: Any, Y: Any) -> Any:
        """For each row of X the number of the nearest row of Y."""

    def get_config() -> dict[str, Any]:
        """Settings of all estimators."""

else:
    try:
        from sklearn import get_config
        from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
        from sklearn.exceptions import NotFittedError
        from sklearn.metrics import pairwise_distances_argmin
        from sklearn.utils.validation import check_is_fitted
    except ModuleNotFoundError:

        class BaseEstimator:
            """The base of models that cannot be made."""

            def __new__(cls, *_: object, **__: object) -> Self:
                """Raise the error that names the extra."""
                raise missing("scikit-learn", f"secfc.{cls.__name__}", "sklearn")

        class ClusterMixin:
            """The base of models that cannot be made."""

        class TransformerMixin:
            """The base of models that cannot be made."""

            def __init_subclass__(cls, *, auto_wrap_output_keys: tuple[str, ...] | None = ()) -> None: ...

        NotFittedError = check_is_fitted = get_config = pairwise_distances_argmin = None

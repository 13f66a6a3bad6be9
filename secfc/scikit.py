"""scikit-learn's base classes of estimators, with types."""

from typing import TYPE_CHECKING, Any, Self

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

else:
    from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin

__all__ = ["BaseEstimator", "ClusterMixin", "TransformerMixin"]

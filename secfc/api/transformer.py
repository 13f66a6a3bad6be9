"""`Prepare` scales by statistics of all parties' rows, as a step of scikit-learn's pipelines."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from secfc.api.scikit import BaseEstimator, TransformerMixin, check_is_fitted, get_config
from secfc.errors import ColumnWarning, DataError, ParameterError, each
from secfc.field.array_types import Floats
from secfc.prepare.column_transform import Preparation
from secfc.prepare.memory import check_threshold, open_totals
from secfc.prepare.schema import Schema
from secfc.prepare.tables import Checked, as_table, checked
from secfc.protocol.job.thresholds import default_threshold
from secfc.tables.parties import is_frame

_OUTPUTS = ("default", "pandas", "polars")


class Prepare(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Check every party's table against an agreed schema and transform all in the same way, without pooling.

    `fit` opens statistics as totals over all parties. They are computed from shares, and any t shares reveal
    nothing. A column is opened only if t + 2 parties hold values of it. All parties run in this process, each
    as a separate object that gives the others only what it sends. It needs the extra "sklearn"; `secfc
    prepare` does not.

    Parameters
    ----------
    schema : Schema
    t : int, optional
        Parties that may collude; 2t + 1 parties are needed. The default is that of `SecureKMeans`.
    names : sequence of str, optional
        The names of the parties in errors.

    Attributes
    ----------
    preparation_ : Preparation
        What all parties know: the opened statistics, and a bound on the norm of prepared rows.
    mended_ : dict by name of party
        Numbers of rows, and of missing and clipped values by column, which a party alone knows of its own.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (columns of the schema,), object

    Examples
    --------
    >>> import secfc
    >>> from secfc.prepare import Column, Schema
    >>> schema = Schema(columns=(Column(name="age", low=0, high=120, scale="standardise"),))
    >>> model = secfc.Prepare(schema, t=1)
    >>> rows = model.fit_transform([{"age": [20.0]}, {"age": [40.0]}, {"age": [60.0]}])
    >>> [round(float(one[0, 0]), 3) for one in rows]
    [-1.225, 0.0, 1.225]
    >>> round(model.preparation_.statistics["age"].mean, 3)
    40.0
    """

    preparation_: Preparation
    mended_: dict[str, dict[str, Any]]
    n_features_in_: int
    feature_names_in_: Any

    def __init__(self, schema: Schema, *, t: int | None = None, names: Sequence[str] | None = None) -> None:
        self.schema = schema
        self.t = t
        self.names = names

    def fit(self, parties: Sequence[Any], y: None = None) -> Self:
        """Open the statistics that the schema needs. `y` is ignored.

        Parameters
        ----------
        parties : sequence of tables
            One per party: a DataFrame (pandas or Polars), a pyarrow.Table, a mapping from column name to
            values, or an array whose columns are those of the schema, in its order.

        Raises
        ------
        DataError
            A table does not fit the schema. The error names the parties and, for everything that is wrong,
            the column and the row number, never a value. Nothing has been shared then.
        LimitError
            Too few parties hold values of a column.

        Warns
        -----
        ColumnWarning
            Columns that are not in the schema are not used. `transform` does not repeat this warning.
        """
        if not isinstance(self.schema, Schema):
            raise ParameterError(f"schema: a Schema is needed, {type(self.schema).__name__} was given")
        names = self._names(parties)
        t = default_threshold(len(names), self.t, None)[0]
        check_threshold(len(names), t)
        tables = each(self._checked, parties, names)
        more: dict[str, str] = {}
        for name, one in zip(names, tables, strict=True):
            more |= {column: more.get(column, name) for column in one.unlisted}
        if more:
            told = ", ".join(f"{column!r} ({name})" for column, name in more.items())
            text = f"columns that are not in the schema are not used: {told}"
            warnings.warn(ColumnWarning(text), stacklevel=2)
        self.preparation_ = open_totals(self.schema, t, tables)
        self.mended_ = {name: one.mended for name, one in zip(names, tables, strict=True)}
        self.feature_names_in_ = np.array([column.name for column in self.schema.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, parties: Any) -> Any:
        """Prepare rows with the statistics of the fit. Nothing is shared.

        A list of tables, as for `fit` but with any number of parties and rows, gives a list of arrays of
        shape (m_j, columns), float64; one table gives one. They are DataFrames if `set_output` says so.
        DataError as in `fit`, and for values beyond the agreed deviations.
        """
        check_is_fitted(self)
        if not isinstance(parties, list | tuple):
            return self._transform(parties, "table")
        return each(self._transform, parties, self._names(parties))

    def inverse_transform(self, centres: Any) -> Floats:
        """Prepared rows, or centres, in the units of the schema, as by `Preparation.restore`."""
        check_is_fitted(self)
        try:
            rows = np.asarray(centres, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError("centres: an array of numbers is needed") from None
        return self.preparation_.restore(rows)

    def get_feature_names_out(self, input_features: object = None) -> Any:
        """Names of prepared columns, as an ndarray of objects; a category is "column=value"."""
        check_is_fitted(self)
        return np.array(self.preparation_.names, dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the output of `transform`: "default" (arrays), "pandas" or "polars"; None changes nothing.

        A pandas frame has the index of the party's frame.
        """
        if transform not in (None, *_OUTPUTS):
            raise ParameterError(f"transform: {', '.join(_OUTPUTS)} are possible")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # scikit-learn's `clone` keeps this name
        return self

    def _names(self, parties: object) -> list[str]:
        if not isinstance(parties, list | tuple):
            raise ParameterError("parties: a list with one table per party is needed")
        if self.names is None:
            return [f"parties[{j}]" for j in range(len(parties))]
        if len(self.names) != len(parties):
            raise ParameterError(f"names: {len(self.names)} names of {len(parties)} parties")
        return list(self.names)

    def _checked(self, party: Any, name: str) -> Checked:
        if isinstance(party, np.ndarray):
            columns = [column.name for column in self.schema.columns]
            if party.ndim != 2 or party.shape[1] != len(columns):
                raise DataError(
                    f"{name}: {len(columns)} columns are needed, the shape given is {party.shape}"
                )
            party = dict(zip(columns, party.T, strict=True))
        return checked(as_table(party, name), self.schema, name=name)

    def _transform(self, party: Any, name: str) -> Any:
        rows = self.preparation_.apply(self._checked(party, name), name=name)
        config = getattr(self, "_sklearn_output_config", {})
        output = config.get("transform", get_config()["transform_output"])
        columns = list(self.preparation_.names)
        if output == "pandas":
            import pandas as pd  # noqa: PLC0415 - optional: needed for this output only

            index = party.index if is_frame(party) and hasattr(party, "index") else None
            return pd.DataFrame(rows, columns=columns, index=index)
        if output == "polars":
            import polars as pl  # noqa: PLC0415 - optional: needed for this output only

            return pl.DataFrame(rows, schema=columns, orient="row")
        return rows

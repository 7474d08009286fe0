"""Datasets of xarray whose data frames have one row per time."""

import itertools

import numpy as np
import pandas
import xarray

ROWS = "run", "time"


class Dataset(xarray.Dataset):
    """An `xarray.Dataset` of which `to_dataframe` has a row per time, and of runs a row per run and time.

    Its other dimensions make columns, such as "position bar x"; the product of all of them, of which most entries
    repeat others, has a million times the numbers there are. What has neither, such as events of contact, is left out.
    """

    __slots__ = ()

    def to_dataframe(self, dim_order=None):
        """A pandas DataFrame; with `dim_order` the product of all dimensions, as xarray has it."""
        rows = [name for name in ROWS if name in self.dims]
        if dim_order is not None or not rows:
            return super().to_dataframe(dim_order)
        shape, columns = tuple(self.sizes[name] for name in rows), {}
        beside = {name: array for name, array in self.coords.items()
                  if name not in self.dims and set(array.dims) & set(rows)}
        for name, array in (beside | dict(self.data_vars)).items():
            if not set(array.dims) & set(rows):
                continue
            own = [d for d in array.dims if d not in rows]
            missing = [d for d in rows if d not in array.dims]
            values = array.expand_dims({d: self.sizes[d] for d in missing}).transpose(*rows, *own).values
            labels = itertools.product(*(self._labels(d) for d in own))
            for label, column in zip(labels, values.reshape(int(np.prod(shape)), -1).T, strict=True):
                columns[" ".join([str(name), *label])] = column
        index = [self[name].values if name in self.coords else np.arange(self.sizes[name]) for name in rows]
        if len(rows) == 1:
            return pandas.DataFrame(columns, index=pandas.Index(index[0], name=rows[0]))
        return pandas.DataFrame(columns, index=pandas.MultiIndex.from_product(index, names=rows))

    def _labels(self, dimension):
        if dimension in self.coords:
            return [str(value) for value in self[dimension].values]
        return [str(i + 1) for i in range(self.sizes[dimension])]

"""The compiled loop of `evaluate`."""

from ...kernels.call import call_kernel
from ...kernels.loops import compiled


@compiled(error_model="numpy", _nrt=False)
def along(tables, t, x, out):
    """Add the values of all parts, by the kernels of their kinds, at states (n, length) to `out`, shape (n, n_values).
    """
    groups, inputs, values = tables.groups, tables.inputs, tables.values
    for k in range(x.shape[0]):
        for g in range(groups.shape[0]):
            address, n_parts, n_in = groups[g, 0], groups[g, 1], groups[g, 2]
            n_numbers, n_out = groups[g, 3], groups[g, 4]
            first, number, target = groups[g, 5], groups[g, 6], groups[g, 7]
            inputs[n_in] = t[k]
            for _ in range(n_parts):
                for i in range(n_in):
                    inputs[i] = x[k, tables.index[first + i]]
                for i in range(n_numbers):
                    inputs[n_in + 1 + i] = tables.parameters[number + i]
                call_kernel(address, inputs, 0, values, 0)
                for i in range(n_out):
                    out[k, tables.targets[target + i]] += values[i]
                first, number, target = first + n_in, number + n_numbers, target + n_out

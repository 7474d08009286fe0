"""Functions of time for loads, as value objects: usable in CasADi symbols and in NumPy.

Their numbers enter kernels as parameters, so that loads which differ only in numbers share a kernel.
"""

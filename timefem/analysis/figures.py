"""Axes to draw on."""


def axes(ax, rows=1):
    """The given axes, or new ones: one, or several above each other."""
    from matplotlib import pyplot as plt

    return plt.subplots(rows, sharex=rows > 1)[1] if ax is None else ax

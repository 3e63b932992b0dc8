# SPDX-License-Identifier: Apache-2.0
"""Curves of an example as a picture; needs matplotlib."""


def curves(path, across, up, values, dashed=()):
    """values: {name: numbers, the first at 1}. dashed: names of those drawn over the others, which they may hide."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "accum", "font.size": 9})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5.2, 2.6), layout="constrained")
    for name, numbers in values.items():
        axes.plot(range(1, len(numbers) + 1), numbers, "--" if name in dashed else "-", label=name)
    axes.set(xlabel=across, ylabel=up)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})

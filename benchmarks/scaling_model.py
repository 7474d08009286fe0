"""Cost model of a distributed Newton iteration, fitted here and drawn to 10^4 ranks; see docs/reports/scaling.md.

    python benchmarks/scaling_model.py [--output docs/images/scaling.png] [--json]
    python benchmarks/scaling_model.py --compare strong.jsonl weak.jsonl [--latency 2e-6] [--bandwidth 1e10]

Measured here: time per element of assembly, of elimination and recovery of the whole chain, of the first, an inner
and the last slab; of a step of the tree of ranks; per step of the march. Assumed: a network. `--compare` sets
what `benchmarks/scaling/measure.py` has measured on a cluster beside the model, fitted where it is called.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import timefem as tf
from timefem.assembly import Assembler, Scaling
from timefem.cases import find_case
from timefem.elements.evaluation.plan import ElementPlan
from timefem.solvers.equations.elements import ElementEquations
from timefem.solvers.linear.petsc_substructure import RankTree, Rest
from timefem.solvers.linear.time_chain.lu import SlabLU

LATENCY, BANDWIDTH = 2e-6, 1e10  # s, bytes per s: assumed, of a common cluster
N_NEWTON = 3  # iterations of a global solve from a good guess


def slab_times(n=5000, repeats=5):
    """Seconds per element: assembly; elimination and recovery in the three kinds of slab; step of the march."""
    problem = find_case("spinning-box").make(t_end=0.0125 * n)
    mesh = tf.TimeMesh.uniform(problem.t_span, n)
    element = tf.BubnovGalerkin(1)
    scale = Scaling.of("full", problem.system, element, 0.0, problem.z0)
    chain = ElementEquations(ElementPlan(problem.system, element), mesh, scale)
    march = tf.solve(problem, tf.MixedGalerkin(1), n_elements=n)
    x = chain.plan.pack(mesh, march.nodal.state, march.nodal.multipliers)
    n_node = chain.plan.columns.n_node
    every = (np.ones(n_node, bool),) * 2
    shared, none = (n_node, n_node), (0, 0)
    kinds = {"all": (chain.assembler, none, none), "first": (chain.assembler, none, shared)}
    behind = Assembler(chain.plan, mesh, every, every, scale)  # its first node takes part
    kinds |= {"inner": (behind, shared, shared), "last": (behind, shared, none)}
    slabs = {}
    for name, (assembler, *ends) in kinds.items():
        p = assembler.pattern
        starts = [np.delete(s, 1) for s in (p.column_starts, p.row_starts)]  # the first block has the first node, too
        slabs[name] = SlabLU(p.indptr, p.indices, *starts, *ends)
    chain.evaluate(x)
    data = {chain.assembler: chain.data, behind: behind.evaluate(x)[1]}
    taken = {name: [] for name in ("assembly", "march", *slabs)}
    prepared = tf.prepare(problem, tf.MixedGalerkin(1), n_elements=n)
    for repeat in range(repeats + 1):
        start = time.process_time()
        chain.evaluate(x)
        taken["assembly"].append(time.process_time() - start)
        for name, slab in slabs.items():
            assembler, start = kinds[name][0], time.process_time()
            slab.factor(data[assembler])
            work, reduced = slab.eliminate(np.ones(assembler.pattern.n_rows))
            slab.recover(work, np.zeros(len(reduced)))
            taken[name].append(time.process_time() - start)
        start = time.process_time()
        prepared.solve()
        taken["march"].append(time.process_time() - start)
        if repeat == 0:
            for values in taken.values():
                values.clear()  # compilation
    return {name: statistics.median(values) / n for name, values in taken.items()}, n_node


def pair_time(n_node, repeats=200):
    """Seconds of one step of the tree of ranks: what is left of two slabs put together, eliminated and recovered."""
    rng, ends = np.random.default_rng(0), SimpleNamespace(left=(n_node, n_node), right=(n_node, n_node))
    tree = RankTree(ends, SimpleNamespace(rank=0, size=2))
    rest = Rest(rng.uniform(-1, 1, (2 * n_node, 2 * n_node)), ends.left, ends.right)
    b, times = rng.uniform(-1, 1, 3 * n_node), []
    for _ in range(repeats):
        start = time.process_time()
        part = tree._joined(0, rest, rest)
        part.recover(part.eliminate(b, False), False)
        times.append(time.process_time() - start)
    return statistics.median(times)


def iteration(p, e, c, pair, n_node, latency=LATENCY, bandwidth=BANDWIDTH):
    """Model of one Newton iteration on p ranks with e elements [s]: slabs of equal work, then a tree of ranks."""
    share = np.where(p == 1, e, e / p)
    work = np.where(p == 1, c["assembly"] + c["all"], c["assembly"] + np.where(p == 2, c["first"], c["inner"]))
    message = latency + 8 * (2 * n_node) ** 2 / bandwidth
    return share * work + np.ceil(np.log2(p)) * (pair + 2 * message + 4 * latency)


def compare(paths, c, pair, n_node, latency, bandwidth):
    """Measured seconds beside those of the model, a dict for each line of the files."""
    points = [json.loads(line) for path in paths for line in path.read_text().splitlines() if line.strip()]
    for point in points:
        ranks = np.array(point["ranks"])
        point["model"] = float(iteration(ranks, point["elements"], c, pair, n_node, latency, bandwidth))
        point["measured over model"] = point["seconds"] / point["model"]
    return sorted(points, key=lambda point: (point["study"], point["ranks"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("docs/images/scaling.png"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--compare", type=Path, nargs="+", help="files of benchmarks/scaling/measure.py")
    parser.add_argument("--latency", type=float, default=LATENCY, help="of the network [s]")
    parser.add_argument("--bandwidth", type=float, default=BANDWIDTH, help="of the network [bytes/s]")
    args = parser.parse_args()
    c, n_node = slab_times()
    pair = pair_time(n_node)
    if args.compare:
        points = compare(args.compare, c, pair, n_node, args.latency, args.bandwidth)
        print(json.dumps(points, indent=1) if args.json else "\n".join(
            f"{p['study']}: {p['ranks']} ranks on {p['hosts']} hosts, {p['elements']} elements: {p['seconds']:.4g} s, "
            f"model {p['model']:.4g} s, ratio {p['measured over model']:.2f}; {p['messages_per_iteration']:.0f} "
            f"messages, at most {p['largest_message']} bytes, {p['memory'] / 2**20:.0f} MiB a rank" for p in points))
        return
    ranks = np.unique(np.round(np.logspace(0, 4, 81)).astype(int))
    speed, break_even = {}, {}
    for e in (10**5, 10**6, 10**7, 10**8):
        total = iteration(ranks, e, c, pair, n_node)
        speed[e] = total[0] / total
        faster = ranks[N_NEWTON * total < e * c["march"]]
        break_even[e] = int(faster[0]) if len(faster) else None
    result = {"microseconds per element": {k: 1e6 * v for k, v in c.items()},
              "microseconds per step of the tree": 1e6 * pair, "unknowns per node": n_node,
              "best ranks": {e: int(ranks[np.argmax(s)]) for e, s in speed.items()},
              "largest speed-up": {e: float(s.max()) for e, s in speed.items()},
              "speed-up on 10^4 ranks": {e: float(s[-1]) for e, s in speed.items()},
              "ranks from which 3 global iterations beat the march": break_even}
    print(json.dumps(result, indent=1) if args.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    draw(ranks, speed, args.output)


def draw(ranks, speed, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for (e, values), style in zip(speed.items(), ("-", "--", ":", "-."), strict=True):
        ax.loglog(ranks, values, style, label=f"$10^{{{round(np.log10(e))}}}$ elements")
    ax.loglog(ranks, ranks, color="0.7", linewidth=1, label="ideal")
    ax.set(xlabel="ranks", ylabel="speed-up of a Newton iteration over 1 rank (model)")
    ax.grid(alpha=0.3)
    ax.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()

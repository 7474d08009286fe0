"""One point of a scaling study: seconds of a Newton iteration of a global solve on the ranks at hand.

    mpirun -n 16 python benchmarks/scaling/measure.py --elements 1000000 --output strong.jsonl
    mpirun -n 16 python benchmarks/scaling/measure.py --per-rank 100000 --output weak.jsonl
    python benchmarks/scaling_model.py --compare strong.jsonl weak.jsonl

BG(1) on the spinning box, by time-chain substructuring. Each run adds one line of JSON to the file: ranks, hosts,
elements, medians over the iterations of the slowest rank [s], messages and their sizes, memory of a process [bytes].
"""

import argparse
import json
import platform
import statistics
import sys
from pathlib import Path

from mpi4py import MPI

from timefem.validate import peak_memory

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench_parallel import CHAIN, prepared_chain


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--elements", type=int, help="of the whole mesh: strong scaling")
    size.add_argument("--per-rank", type=int, help="elements on each rank: weak scaling")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--output", type=Path, help="file to which a line is added; default: standard output")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    elements = args.elements or args.per_rank * comm.size
    chain, iterate = prepared_chain(elements, comm if comm.size > 1 else None, CHAIN)
    times = []
    for _ in range(args.repeats):
        comm.Barrier()
        times.append(comm.allreduce(iterate(), op=MPI.MAX))
    facts, hosts = chain.per_rank, sorted(set(comm.allgather(platform.node())))
    if comm.rank:
        return
    n = args.repeats + 1  # and one before, in which everything is compiled
    point = {"study": "strong" if args.elements else "weak", "ranks": comm.size, "hosts": len(hosts),
             "elements": elements, "seconds": statistics.median(times), "fastest": min(times),
             "messages_per_iteration": sum(facts.get("messages", [0])) / n,
             "largest_message": max(facts.get("largest_message", [0])),
             "memory": max(facts.get("memory", [peak_memory()]))}
    line = json.dumps(point)
    if args.output is None:
        print(line)
    else:
        with args.output.open("a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()

"""Where the time of a step goes, kernel by kernel, from the CSV of kernel_trace.cpp.

A step is one launch of a CUDA graph: of the graph that takes the most time in the file, the launch of
median length is shown. Without graphs use --whole, which takes the file as one step.
"""

import argparse
import csv
import re
import statistics
import sys
from collections import defaultdict


class Kernel:
    def __init__(self, row):
        self.launch, self.name = int(row["launch"]), row["name"]
        self.start, self.end = int(row["start_ns"]) / 1e3, int(row["end_ns"]) / 1e3  # us
        self.stream, self.blocks = int(row["stream"]), int(row["blocks"])

    @property
    def length(self):
        return self.end - self.start


def read(path):
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        rows = csv.DictReader(file)
        if rows.fieldnames is None or "start_ns" not in rows.fieldnames:
            raise ValueError(f"{path}: not a file of kernel_trace.cpp")
        try:
            return [Kernel(row) for row in rows]
        except (TypeError, ValueError):
            raise ValueError(f"{path}: line {rows.line_num} is cut off or damaged; was the program "
                             "killed? Trace it again") from None


def span(kernels):
    return max(k.end for k in kernels) - min(k.start for k in kernels)


def median_step(kernels):
    """The kernels of one launch, in order, and how many launches are like it."""
    launches = defaultdict(list)
    for kernel in kernels:
        launches[kernel.launch].append(kernel)
    kinds = defaultdict(list)  # launches of as many kernels
    for launch in launches.values():
        kinds[len(launch)].append(launch)
    if len(kinds) > 1:
        kinds.pop(1, None)  # no graphs: the steps that warm up launch kernel by kernel
    longest = max(kinds.values(), key=lambda kind: sum(span(launch) for launch in kind))
    middle = statistics.median_low(span(launch) for launch in longest)
    step = next(launch for launch in longest if span(launch) == middle)
    return sorted(step, key=lambda k: k.start), len(longest)


def busy(kernels):
    """Microseconds in which at least one of the kernels runs; they are in the order of their starts."""
    total, until = 0.0, float("-inf")
    for kernel in kernels:
        total += max(0.0, kernel.end - max(kernel.start, until))
        until = max(until, kernel.end)
    return total


def short(name, width):
    name = re.sub(r"\(anonymous namespace\)::|^void |adagp::cuda::|at::native::", "", name)
    return name if len(name) <= width else name[:width - 3] + "..."


def table(step, width):
    by_name = defaultdict(list)
    for kernel in step:
        by_name[kernel.name].append(kernel.length)
    lines = ["    us  share  count  kernel"]
    for name, lengths in sorted(by_name.items(), key=lambda item: -sum(item[1])):
        share = 100 * sum(lengths) / span(step)
        lines.append(f"{sum(lengths):6.1f} {share:5.1f}%  {len(lengths):5d}  {short(name, width)}")
    return lines


def in_order(step, width):
    lines = ["   start  before     us  stream  blocks  kernel  (before: nothing ran)"]
    first, until = step[0].start, step[0].start
    for k in step:
        lines.append(f"{k.start - first:8.1f} {max(0.0, k.start - until):7.1f} {k.length:6.1f} "
                     f"{k.stream:7d} {k.blocks:7d}  {short(k.name, width)}")
        until = max(until, k.end)
    return lines


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", help="CSV of kernel_trace.cpp")
    parser.add_argument("--list", action="store_true", help="every kernel, in order")
    parser.add_argument("--whole", action="store_true", help="the whole file as one step")
    parser.add_argument("--width", type=int, default=90, help="letters of a kernel's name")
    args = parser.parse_args(words)
    try:
        kernels = read(args.trace)
    except (OSError, ValueError) as error:
        print(f"kernel_times.py: {error}", file=sys.stderr)
        return 3
    if not kernels:
        print(f"kernel_times.py: {args.trace}: no kernels", file=sys.stderr)
        return 3
    step, alike = (sorted(kernels, key=lambda k: k.start), 1) if args.whole else median_step(kernels)
    work, length = sum(k.length for k in step), span(step)
    print(f"{len(step)} kernels in {length:.1f} us (median of {alike}): {work:.1f} us of kernels, "
          f"{work - busy(step):.1f} of them beside others, and {length - busy(step):.1f} us between "
          "kernels")
    print("\n".join(in_order(step, args.width) if args.list else table(step, args.width)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

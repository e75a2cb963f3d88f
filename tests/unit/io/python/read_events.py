"""read_events.py FOLDER: what TensorBoard's own reader finds in it, as JSON."""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

accumulator = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0})
accumulator.Reload()
tags = accumulator.Tags()
json.dump(
    {
        "scalars": {
            tag: [[event.step, event.value] for event in accumulator.Scalars(tag)]
            for tag in tags["scalars"]
        },
        "histograms": {
            tag: [
                {
                    "step": event.step,
                    "min": event.histogram_value.min,
                    "max": event.histogram_value.max,
                    "num": event.histogram_value.num,
                    "sum": event.histogram_value.sum,
                    "sum_squares": event.histogram_value.sum_squares,
                    "limits": list(event.histogram_value.bucket_limit),
                    "buckets": list(event.histogram_value.bucket),
                }
                for event in accumulator.Histograms(tag)
            ]
            for tag in tags["histograms"]
        },
    },
    sys.stdout,
)

"""What torchvision reads in the trainval set of a VOC folder: JSON on standard output."""

import json
import sys

from torchvision.datasets import VOCDetection

out = []
for image, target in VOCDetection(sys.argv[1], year="2007", image_set="trainval"):
    objects = [{"name": o["name"], "box": [float(o["bndbox"][k]) for k in ("xmin", "ymin", "xmax", "ymax")]}
               for o in target["annotation"]["object"]]
    out.append({"size": list(image.size), "objects": objects})
print(json.dumps(out))

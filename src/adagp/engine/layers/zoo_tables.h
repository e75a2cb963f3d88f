#pragma once
// The layer tables of every network, as they are kept in configs/layers.

#include <string>
#include <vector>

#include "adagp/engine/models/model.h"
#include "adagp/sim/layers/table.h"

namespace adagp::layers {

// How a network is built and fed when nobody says otherwise.
struct Usual {
  models::Options options;
  std::string input;  // as from_model() takes it
};
// As published: ImageNet and 1000 classes (COCO's 80 for detection), the words of Multi30k for
// translation; CIFAR and 10 classes where there is no other form.
Usual usual(const models::Entry& entry);

struct ZooTable {
  std::string name;  // of the file without its ending: "resnet50-cifar", "yolov3-voc"
  Table table;       // with vector operations; auxiliary heads as in training
};
std::vector<ZooTable> zoo_tables();

}  // namespace adagp::layers

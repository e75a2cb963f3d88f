#include "adagp/results/report/metric.h"

namespace adagp::report {

Metric metric_named(const std::string& name) {
  static const Metric kKnown[] = {{"top1", "top-1", true},
                                  {"top5", "top-5", true},
                                  {"accuracy", "accuracy", true},
                                  {"map50", "mAP", true},
                                  {"map50_11", "mAP (11 points)", true},
                                  {"class_accuracy", "class accuracy", true},
                                  {"object_recall", "objects seen", true},
                                  {"bleu", "BLEU", false}};
  for (const Metric& metric : kKnown) {
    if (metric.name == name) return metric;
  }
  return {name, name, false};
}

}  // namespace adagp::report

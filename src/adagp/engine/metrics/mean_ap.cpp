#include "adagp/engine/metrics/mean_ap.h"

#include <algorithm>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::metrics {
namespace {

struct Curve {
  std::vector<double> recall, precision;  // after each answer
};

double area_under(const Curve& curve) {
  // From the end: precision at a recall is the best at that recall or a higher one.
  double area = 0, best = 0;
  for (size_t i = curve.recall.size(); i-- > 0;) {
    best = std::max(best, curve.precision[i]);
    area += best * (curve.recall[i] - (i > 0 ? curve.recall[i - 1] : 0.0));
  }
  return area;
}

double at_eleven(const Curve& curve) {
  double sum = 0;
  for (int step = 0; step <= 10; ++step) {
    double best = 0;
    for (size_t i = 0; i < curve.recall.size(); ++i) {
      // In tenths, so that a recall of 3 in 10 counts as 0.3.
      if (curve.recall[i] * 10 >= step - 1e-9) best = std::max(best, curve.precision[i]);
    }
    sum += best;
  }
  return sum / 11;
}

}  // namespace

MeanAp::MeanAp(int64_t classes, double overlap)
    : classes_(static_cast<size_t>(classes)), overlap_(overlap) {}

void MeanAp::add(const std::vector<core::LabelledBox>& objects,
                 const std::vector<ScoredBox>& found) {
  std::vector<bool> present(classes_.size());
  const auto note = [&](int64_t label) {
    if (label < 0 || label >= static_cast<int64_t>(classes_.size())) {
      throw Error(core::cat("mean_ap: class ", label, ", expected 0 to ", classes_.size() - 1));
    }
    present[static_cast<size_t>(label)] = true;
  };
  for (const auto& object : objects) note(object.label);
  for (const auto& one : found) note(one.label);
  for (size_t label = 0; label < present.size(); ++label) {
    if (present[label]) judge(objects, found, static_cast<int64_t>(label));
  }
}

void MeanAp::judge(const std::vector<core::LabelledBox>& objects,
                   const std::vector<ScoredBox>& found, int64_t label) {
  Class& out = classes_[static_cast<size_t>(label)];
  for (const auto& object : objects) {
    if (object.label == label && !object.difficult) ++out.objects;
  }
  std::vector<const ScoredBox*> answers;
  for (const auto& one : found) {
    if (one.label == label) answers.push_back(&one);
  }
  std::stable_sort(answers.begin(), answers.end(),
                   [](const auto* a, const auto* b) { return a->score > b->score; });
  std::vector<bool> taken(objects.size());
  for (const ScoredBox* answer : answers) {
    double best = -1;
    size_t nearest = 0;
    for (size_t i = 0; i < objects.size(); ++i) {
      if (objects[i].label != label) continue;
      const double shared = core::iou(objects[i].box, answer->box);
      if (shared > best) {
        best = shared;
        nearest = i;
      }
    }
    const bool meets = best >= overlap_;
    if (meets && objects[nearest].difficult) continue;
    out.answers.push_back({answer->score, meets && !taken[nearest]});
    if (meets) taken[nearest] = true;
  }
}

MeanAp::Value MeanAp::value() const {
  Value out;
  int64_t counted = 0;
  for (const Class& one : classes_) {
    ClassAp ap;
    ap.objects = one.objects;
    if (one.objects > 0) {
      std::vector<Answer> answers = one.answers;
      std::stable_sort(answers.begin(), answers.end(),
                       [](const Answer& a, const Answer& b) { return a.score > b.score; });
      Curve curve;
      double hits = 0;
      for (size_t i = 0; i < answers.size(); ++i) {
        hits += answers[i].hit ? 1 : 0;
        curve.recall.push_back(hits / static_cast<double>(one.objects));
        curve.precision.push_back(hits / static_cast<double>(i + 1));
      }
      ap.area = area_under(curve);
      ap.eleven = at_eleven(curve);
      out.area += ap.area;
      out.eleven += ap.eleven;
      ++counted;
    }
    out.classes.push_back(ap);
  }
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  out.area = counted > 0 ? out.area / static_cast<double>(counted) : nothing;
  out.eleven = counted > 0 ? out.eleven / static_cast<double>(counted) : nothing;
  return out;
}

}  // namespace adagp::metrics

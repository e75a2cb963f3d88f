#pragma once
// Mean average precision as the Pascal VOC challenge defines it. No torch here.

#include <cstdint>
#include <vector>

#include "adagp/base/core/box.h"
#include "adagp/engine/metrics/nms.h"

namespace adagp::metrics {

// Each detection of a picture, surest first, is held against the object of its class that it
// overlaps most. That is a hit when the overlap (IoU) reaches the limit and the object is not taken
// yet; a difficult object counts neither way; all else is a false alarm. Over a class's detections
// of all pictures by falling score this gives precision and recall.
//   area:   the area under precision made falling (the challenge since 2010);
//   eleven: the mean of the largest precision at recall >= 0, 0.1, ... 1 (until 2009).
// A class without objects is left out of the mean.
class MeanAp {
 public:
  explicit MeanAp(int64_t classes, double overlap = 0.5);

  // The objects and the detections of one picture.
  void add(const std::vector<core::LabelledBox>& objects, const std::vector<ScoredBox>& found);

  struct ClassAp {
    double area = 0, eleven = 0;
    int64_t objects = 0;  // without the difficult ones
  };
  struct Value {
    double area = 0, eleven = 0;  // 0 .. 1; NaN without an object
    std::vector<ClassAp> classes;
  };
  Value value() const;

 private:
  struct Answer {
    double score;
    bool hit;
  };
  struct Class {
    std::vector<Answer> answers;
    int64_t objects = 0;
  };
  void judge(const std::vector<core::LabelledBox>& objects, const std::vector<ScoredBox>& found,
             int64_t label);

  std::vector<Class> classes_;
  double overlap_;
};

}  // namespace adagp::metrics

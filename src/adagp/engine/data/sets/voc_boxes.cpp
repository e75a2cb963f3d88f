// Which boxes of an annotation can be right.

#include <algorithm>
#include <cmath>
#include <iterator>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/voc_list.h"

namespace adagp::data {

void BadBoxes::note(const std::string& kind, const std::string& message) {
  if (refuse) {
    throw DataError(message + "; mend it, or leave such out with data.bad_boxes = \"skip\"");
  }
  if (first.empty()) first = message;
  ++count[kind];
}

std::string BadBoxes::summary() const {
  int64_t all = 0;
  std::vector<std::string> kinds;
  for (const auto& [kind, number] : count) {
    all += number;
    kinds.push_back(core::cat(number, " ", kind));
  }
  if (all == 0) return "";
  return core::cat("data: voc: left out ", core::join(kinds, ", "), "; the first: ", first);
}

std::vector<core::LabelledBox> checked_objects(const VocAnnotation& annotation,
                                               const std::vector<std::string>& classes,
                                               const std::string& path, BadBoxes& bad) {
  static constexpr int64_t kLongestSide = 65535;  // of an image of unknown size
  const auto side = [](int64_t pixels) {
    return static_cast<double>(pixels > 0 ? std::min(pixels, kLongestSide) : kLongestSide);
  };
  const core::Box whole{0, 0, side(annotation.width), side(annotation.height)};
  std::vector<core::LabelledBox> out;
  for (const VocObject& o : annotation.objects) {
    const std::string box = core::cat(path, ": object '", o.name, "': box ", o.xmin, ",", o.ymin,
                                      " to ", o.xmax, ",", o.ymax);
    const auto found = std::find(classes.begin(), classes.end(), o.name);
    if (found == classes.end()) {
      bad.note("of unknown class", core::cat(path, ": unknown class '", o.name, "'",
                                             core::suggestion(o.name, classes)));
      continue;
    }
    const double edge[] = {o.xmin, o.ymin, o.xmax, o.ymax};
    if (!std::all_of(std::begin(edge), std::end(edge), [](double e) { return std::isfinite(e); })) {
      bad.note("not finite", box + " is not finite, expected numbers of pixels");
      continue;
    }
    if (o.xmax < o.xmin || o.ymax < o.ymin) {
      bad.note("inverted", box + " is inverted, expected xmin <= xmax and ymin <= ymax");
      continue;
    }
    if (o.xmax == o.xmin || o.ymax == o.ymin) {
      bad.note("without area", box + " has no area");
      continue;
    }
    const core::Box edges = core::intersection({o.xmin - 1, o.ymin - 1, o.xmax, o.ymax}, whole);
    if (edges.right - edges.left < 1 || edges.bottom - edges.top < 1) {
      bad.note("outside", core::cat(box, " is outside of its image of ", annotation.width, "x",
                                    annotation.height));
      continue;
    }
    out.push_back({edges, found - classes.begin(), o.difficult});
  }
  if (out.empty()) {
    bad.note("pictures without a box", path + ": no box is left in it, expected at least one");
  }
  return out;
}

}  // namespace adagp::data

#pragma once
// One annotation file of Pascal VOC: what is written in it, right or wrong. No torch here.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adagp::data {

struct VocObject {
  std::string name;
  double xmin = 0, ymin = 0, xmax = 0, ymax = 0;  // pixel numbers from 1 on, inclusive
  bool difficult = false;
};

struct VocAnnotation {
  std::string filename;           // of the image
  int64_t width = 0, height = 0;  // 0 = not said
  std::vector<VocObject> objects;
};

// Throws DataError naming the file for text that is not XML or has no <annotation>, and for an
// object without a name or with a coordinate that is no number.
VocAnnotation parse_voc(std::string_view xml, const std::string& path);

std::string to_xml(const VocAnnotation& annotation);

// Whether this program was built with pugixml, for `adagp doctor`; without it parse_voc() throws.
bool have_xml();

}  // namespace adagp::data

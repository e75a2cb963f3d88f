#include "adagp/engine/data/sets/voc_annotation.h"

#ifdef ADAGP_HAVE_PUGIXML
#include <pugixml.hpp>
#endif

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"

namespace adagp::data {
namespace {

#ifdef ADAGP_HAVE_PUGIXML
double coordinate(const pugi::xml_node& box, const char* key, const std::string& path,
                  const std::string& name) {
  const std::string text = core::trim(box.child(key).text().get());
  double value = 0;
  if (core::parse_number(text, value)) return value;
  throw DataError(core::cat(path, ": object '", name, "': <", key, "> is '", text,
                            "', expected a number of pixels; mend the annotation"));
}

VocObject read_object(const pugi::xml_node& node, const std::string& path) {
  VocObject object;
  object.name = core::trim(node.child("name").text().get());
  if (object.name.empty()) {
    throw DataError(path + ": an <object> without <name>, expected its class; mend the annotation");
  }
  const pugi::xml_node box = node.child("bndbox");
  object.xmin = coordinate(box, "xmin", path, object.name);
  object.ymin = coordinate(box, "ymin", path, object.name);
  object.xmax = coordinate(box, "xmax", path, object.name);
  object.ymax = coordinate(box, "ymax", path, object.name);
  object.difficult = node.child("difficult").text().as_int() != 0;
  return object;
}
#endif

}  // namespace

bool have_xml() {
#ifdef ADAGP_HAVE_PUGIXML
  return true;
#else
  return false;
#endif
}

#ifdef ADAGP_HAVE_PUGIXML
VocAnnotation parse_voc(std::string_view xml, const std::string& path) {
  pugi::xml_document document;
  const auto result = document.load_buffer(xml.data(), xml.size());
  if (!result) {
    throw DataError(core::cat(path, ": not XML at byte ", result.offset, " of ", xml.size(), ": ",
                              result.description(), "; the file is cut off or corrupt"));
  }
  const pugi::xml_node root = document.child("annotation");
  if (!root) {
    throw DataError(path + ": no <annotation> in it, expected a Pascal VOC annotation");
  }
  VocAnnotation out;
  out.filename = core::trim(root.child("filename").text().get());
  out.width = root.child("size").child("width").text().as_llong();
  out.height = root.child("size").child("height").text().as_llong();
  for (const pugi::xml_node& node : root.children("object")) {
    out.objects.push_back(read_object(node, path));
  }
  return out;
}
#else
VocAnnotation parse_voc(std::string_view, const std::string& path) {
  throw DataError(path +
                  ": this program was built without pugixml; install libpugixml-dev and build "
                  "again");
}
#endif

std::string to_xml(const VocAnnotation& a) {
  std::string objects;
  for (const VocObject& o : a.objects) {
    objects +=
        core::cat("  <object>\n    <name>", core::xml_escape(o.name), "</name>\n",
                  "    <pose>Unspecified</pose>\n    <truncated>0</truncated>\n", "    <difficult>",
                  o.difficult ? 1 : 0, "</difficult>\n    <bndbox>\n", "      <xmin>",
                  core::shortest(o.xmin), "</xmin>\n", "      <ymin>", core::shortest(o.ymin),
                  "</ymin>\n", "      <xmax>", core::shortest(o.xmax), "</xmax>\n", "      <ymax>",
                  core::shortest(o.ymax), "</ymax>\n", "    </bndbox>\n  </object>\n");
  }
  return core::cat("<annotation>\n  <filename>", core::xml_escape(a.filename),
                   "</filename>\n  <size>\n", "    <width>", a.width, "</width>\n    <height>",
                   a.height,
                   "</height>\n    <depth>3</depth>\n  </size>\n  <segmented>0</segmented>\n",
                   objects, "</annotation>\n");
}

}  // namespace adagp::data

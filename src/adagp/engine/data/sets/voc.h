#pragma once
// Pascal VOC: VOCdevkit/VOC<year>/{Annotations,JPEGImages,ImageSets/Main}.

#include <string>
#include <vector>

#include "adagp/base/config/data_options.h"

namespace adagp::data {

struct DetectionSplits;

// The twenty classes of the challenge, in its order.
const std::vector<std::string>& voc_classes();

// `config.dir` is VOCdevkit or a folder that holds it. Sets are named "2007/trainval"; without
// voc_train and voc_test: the trainval sets of 2007 and 2012 and the test set of 2007, as far as
// they are there. Other classes than the challenge's are those of VOCdevkit/classes.txt, one a
// line.
//
// Annotations that cannot be right are refused or left out by `config.bad_boxes`: a box that is
// inverted, without area or outside of its image, an unknown class, a picture without a box.
DetectionSplits open_voc(const Config& config);

// `dir`/VOCdevkit/VOC2007 with the sets trainval and test, and classes.txt. JPEG images, or PNG
// where there is no TurboJPEG.
void write_voc(const DetectionSplits& splits, const std::string& dir);

}  // namespace adagp::data

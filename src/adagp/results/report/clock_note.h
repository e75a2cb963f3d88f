#pragma once
// Whether seconds of training can be trusted.

#include <string>
#include <vector>

namespace adagp::report {

// Equal work should take equal time: on a quiet GPU bp's epochs differ by less than 1 %. A warning
// if `what` ("bp, batch size 128: an epoch"), done several times, took `least` to `most` seconds;
// "" if these are near each other.
std::string clock_note(const std::string& what, double least, double most);

// A sentence if the runs were on several kinds of hardware, whose seconds are not compared; else
// "".
std::string hardware_note(const std::vector<std::string>& hardware);

}  // namespace adagp::report

// Any text is either a DataError or a hardware program that, written out, is read back as the same
// program, and whose cycles can be counted. A wrong checksum is put right, so that what lies behind
// it is reached.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/sim/rtl/cycle_model.h"
#include "adagp/sim/rtl/descriptor.h"

namespace {

using namespace adagp;

rtl::ProgramFile parse(std::string text) {
  try {
    return rtl::parse_program(text, "fuzz.hex");
  } catch (const DataError& error) {
    const std::string message = error.what(), mark = "checksum is not ";
    const auto at = message.find(mark), line = text.rfind("checksum ");
    if (at == std::string::npos || line == std::string::npos) throw;
    text.replace(line, std::string::npos, "checksum " + message.substr(at + mark.size()) + "\n");
    return rtl::parse_program(text, "fuzz.hex");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  rtl::ProgramFile file;
  try {
    file = parse({reinterpret_cast<const char*>(bytes), count});
  } catch (const DataError&) {
    return 0;
  }
  const std::string written = rtl::program_text(file);
  if (rtl::program_text(rtl::parse_program(written, "again.hex")) != written) std::abort();
  const rtl::Counts counts = rtl::predict(file.machine, file.program, file.schedule);
  if (counts.cycles < 1) std::abort();
  return 0;
}

// The program file: reading checks every line, since a file may be cut off or hostile.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/sim/rtl/descriptor.h"

namespace adagp::rtl {
namespace {

constexpr const char* kTitle = "adagp-rtl program 2";
constexpr std::size_t kDigits = kDescriptorBits / 4;
constexpr std::uint32_t kMaxDescriptors = 1u << kMaxDescriptorBits;

// FNV-1a over the descriptor lines.
std::uint32_t checksum(const std::string& text, std::uint32_t sum = 2166136261u) {
  for (const unsigned char c : text) sum = (sum ^ c) * 16777619u;
  return sum;
}

std::string hex_line(const Descriptor& d) {
  const Words words = encode(d);
  std::string line;
  char part[9];
  for (std::size_t i = words.size(); i-- > 0;) {
    std::snprintf(part, sizeof part, "%08x", words[i]);
    line += part;
  }
  return line;
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& name) : in_(text), name_(name) {}

  std::string line(const char* what) {
    std::string out;
    if (!std::getline(in_, out)) fail(std::string("ends before ") + what + ": the file is cut off");
    ++number_;
    return out;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw DataError("rtl: " + name_ + ", line " + std::to_string(number_) + ": " + why);
  }

  // What is wrong in a file is a DataError with the file's name, whoever found it.
  template <typename Function>
  auto checked(Function function) const {
    try {
      return function();
    } catch (const UsageError& error) {
      renamed(error);
    } catch (const DataError& error) {
      renamed(error);
    }
  }

  // "key value" on a line of its own.
  std::string value(const std::string& key) {
    const std::string text = line(key.c_str());
    if (text.rfind(key + " ", 0) != 0) fail("expected '" + key + " ...'");
    return text.substr(key.size() + 1);
  }

  std::uint32_t number(const std::string& text, std::uint32_t most) const {
    std::uint32_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end != text.data() + text.size() || out > most)
      fail("expected a whole number of at most " + std::to_string(most));
    return out;
  }

  std::uint32_t number(const std::string& key_value) {
    return number(value(key_value), 0xffffffffu);
  }

  // "AxB"
  void pair(const std::string& key, int& a, int& b) {
    const std::string text = value(key);
    const std::size_t x = text.find('x');
    if (x == std::string::npos) fail("expected '" + key + " ROWSxCOLS'");
    a = static_cast<int>(number(text.substr(0, x), 255));
    b = static_cast<int>(number(text.substr(x + 1), 255));
  }

  Descriptor descriptor() {
    const std::string text = line("all descriptors");
    if (text.size() != kDigits || text.find_first_not_of("0123456789abcdef") != std::string::npos)
      fail("expected " + std::to_string(kDigits) + " hex digits" +
           (at_end() ? "; the file is cut off here" : ""));
    sum_ = checksum(text, sum_);
    Words words{};
    for (std::size_t i = 0; i < words.size(); ++i)
      std::from_chars(text.data() + kDigits - 8 * (i + 1), text.data() + kDigits - 8 * i, words[i],
                      16);
    return decode(words);
  }

  std::uint32_t sum() const { return sum_; }
  bool at_end() { return in_.peek() == std::istringstream::traits_type::eof(); }

 private:
  [[noreturn]] void renamed(const Error& error) const {
    const std::string text = error.what(), prefix = "rtl: ";
    throw DataError(prefix + name_ + ": " +
                    (text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text));
  }

  std::istringstream in_;
  std::string name_;
  int number_ = 0;
  std::uint32_t sum_ = checksum("");
};

}  // namespace

std::string program_text(const ProgramFile& file) {
  const Machine& m = file.machine;
  const Schedule& s = file.schedule;
  std::ostringstream out;
  out << kTitle << "\ndesign " << kDesignNames[static_cast<int>(m.design)] << "\nformat "
      << kFormatNames[static_cast<int>(m.format)] << "\narray " << m.rows << 'x' << m.cols
      << "\npredictor_array " << m.pred_rows << 'x' << m.pred_cols << "\npredictor_modes "
      << (m.pred_three_modes ? 3 : 1) << "\nx_bits " << m.x_bits << "\ny_bits " << m.y_bits
      << "\nw_bits " << m.w_bits << "\npredictor_bits " << m.predictor_bits << "\ndescriptor_bits "
      << m.descriptor_bits << "\nepochs " << s.epochs << "\nepoch_batches " << s.epoch_batches
      << "\nschedule " << s.stretches.str() << "\ndescriptors " << file.program.size() << '\n';
  std::uint32_t sum = checksum("");
  for (const Descriptor& d : file.program) {
    const std::string line = hex_line(d);
    sum = checksum(line, sum);
    out << line << '\n';
  }
  char last[32];
  std::snprintf(last, sizeof last, "checksum %08x\n", sum);
  return out.str() + last;
}

ProgramFile parse_program(const std::string& text, const std::string& name) {
  Reader in(text, name);
  if (in.line("its title") != kTitle) in.fail(std::string("expected '") + kTitle + "'");
  ProgramFile file;
  Machine& m = file.machine;
  const std::string design = in.value("design"), format = in.value("format");
  m.design = in.checked([&] { return design_named(design); });
  m.format = in.checked([&] { return format_named(format); });
  in.pair("array", m.rows, m.cols);
  in.pair("predictor_array", m.pred_rows, m.pred_cols);
  m.pred_three_modes = in.number(in.value("predictor_modes"), 3) == 3;
  m.x_bits = static_cast<int>(in.number(in.value("x_bits"), 16));
  m.y_bits = static_cast<int>(in.number(in.value("y_bits"), 16));
  m.w_bits = static_cast<int>(in.number(in.value("w_bits"), 16));
  m.predictor_bits = static_cast<int>(in.number(in.value("predictor_bits"), 16));
  m.descriptor_bits = static_cast<int>(in.number(in.value("descriptor_bits"), kMaxDescriptorBits));
  const std::uint32_t epochs = in.number("epochs"), epoch_batches = in.number("epoch_batches");
  const std::string stretches = in.value("schedule");
  file.schedule = in.checked([&] { return schedule_of(stretches, epochs, epoch_batches); });
  const std::uint32_t count = in.number(in.value("descriptors"), kMaxDescriptors);
  for (std::uint32_t i = 0; i < count; ++i) file.program.push_back(in.descriptor());
  char expected[16];
  std::snprintf(expected, sizeof expected, "%08x", in.sum());
  if (in.value("checksum") != expected) in.fail(std::string("checksum is not ") + expected);
  if (!in.at_end()) in.fail("more lines follow the checksum");
  in.checked([&] {
    file.schedule.check();
    check(m, file.program);
  });
  return file;
}

void write_program(const std::string& path, const ProgramFile& file) {
  core::write_file(path, program_text(file));
}

ProgramFile read_program(const std::string& path) {
  return parse_program(core::read_file(path), path);
}

}  // namespace adagp::rtl

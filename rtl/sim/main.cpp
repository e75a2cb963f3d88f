// The command line around one Verilated configuration: runs a program file and prints its counters.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "model.h"

namespace {

using namespace adagp;
using namespace adagp::rtl;

struct Arguments {
  std::string program, memory, dump, vcd;
  RunOptions run;
};

double number(const char* text, const std::string& option) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end) throw UsageError("rtl: " + option + " " + text + " is no number");
  return value;
}

Arguments parse(int count, char** values) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string option = values[i];
    if (option.rfind("--", 0) != 0 && out.program.empty()) {
      out.program = option;
      continue;
    }
    if (i + 1 == count) throw UsageError("rtl: " + option + " needs a value");
    const char* value = values[++i];
    if (option == "--memory")
      out.memory = value;
    else if (option == "--dump")
      out.dump = value;
    else if (option == "--vcd")
      out.vcd = value;
    else if (option == "--activity")
      out.run.every = static_cast<std::uint64_t>(number(value, option));
    else if (option == "--stalls")
      out.run.stalls = number(value, option);
    else if (option == "--seed")
      out.run.seed = static_cast<std::uint32_t>(number(value, option));
    else
      throw UsageError("rtl: unknown option " + option);
  }
  if (out.program.empty())
    throw UsageError(
        "usage: PROGRAM.hex [--memory IMAGE] [--dump FILE] [--stalls P] [--seed S] [--vcd FILE] "
        "[--activity CYCLES]");
  return out;
}

void require_same(const Machine& built, const Machine& wanted) {
  ProgramFile a{built, {}, {}}, b{wanted, {}, {}};
  if (program_text(a) != program_text(b))
    throw DataError("rtl: the program is for another machine than this model:\n" + program_text(b) +
                    "this model:\n" + program_text(a));
}

// Beats that the program's transfers touch.
std::size_t beats_of(const Program& program) {
  std::size_t most = 1;
  for (const Descriptor& d : program)
    if (static_cast<Op>(d.op) == Op::kDma)
      most = std::max<std::size_t>(most, std::size_t{d.addr} + d.n0);
  // A hostile address must not ask for all of this computer's memory.
  if (most * built_machine().lanes() > (std::size_t{1} << 28))
    throw DataError("rtl: the program's transfers reach beat " + std::to_string(most) +
                    ": more than 1 GiB of outside memory");
  return most;
}

void print(const char* name, const Counts& c, const char* after) {
  std::printf("  \"%s\": {", name);
  const char* comma = "";
#define ADAGP_RTL_PRINT(event)                                                            \
  std::printf("%s\"" #event "\": %llu", comma, static_cast<unsigned long long>(c.event)); \
  comma = ", ";
  ADAGP_RTL_EVENTS(ADAGP_RTL_PRINT)
#undef ADAGP_RTL_PRINT
  std::printf("}%s\n", after);
}

// One line for each part of the run: cycles in which each engine was busy, cycles of each phase.
void print(const std::vector<Activity>& activity) {
  std::printf("  \"activity\": [");
  for (std::size_t i = 0; i < activity.size(); ++i) {
    std::printf("%s\n    [", i ? "," : "");
    for (const std::uint64_t busy : activity[i].busy)
      std::printf("%llu, ", static_cast<unsigned long long>(busy));
    for (int p = 0; p < kPhaseCount; ++p)
      std::printf("%llu%s", static_cast<unsigned long long>(activity[i].phases[p]),
                  p + 1 < kPhaseCount ? ", " : "]");
  }
  std::printf("],\n");
}

void run(const Arguments& arguments) {
  const ProgramFile file = read_program(arguments.program);
  require_same(built_machine(), file.machine);
  Model model(beats_of(file.program), arguments.vcd);
  if (!arguments.memory.empty()) {
    const std::string bytes = core::read_file(arguments.memory);
    const std::size_t room = model.outside().size() * 4;
    if (bytes.size() % 4 || bytes.size() > room)
      throw DataError("rtl: " + arguments.memory + ": " + std::to_string(bytes.size()) +
                      " bytes, expected whole 32-bit words and at most " + std::to_string(room));
    std::memcpy(model.outside().data(), bytes.data(), bytes.size());
  }
  const Counts seen = model.run(file.program, file.schedule, arguments.run);
  const Counts expected = predict(file.machine, file.program, file.schedule);
  bool in_order = model.phases().size() == static_cast<std::size_t>(file.schedule.batches());
  for (std::size_t b = 0; in_order && b < model.phases().size(); ++b)
    in_order = model.phases()[b] == file.schedule.at(file.machine, static_cast<std::int64_t>(b));
  std::printf("{\n  \"cycles\": %llu,\n", static_cast<unsigned long long>(seen.cycles));
  print("events", seen, ",");
  print("simulator", expected, ",");
  if (arguments.run.every) print(model.activity());
  std::printf("  \"phases_in_order\": %s,\n", in_order ? "true" : "false");
  std::printf("  \"equal\": %s\n}\n", seen == expected && in_order ? "true" : "false");
  if (!arguments.dump.empty())
    core::write_file(arguments.dump, {reinterpret_cast<const char*>(model.outside().data()),
                                      model.outside().size() * 4});
}

}  // namespace

int main(int count, char** values) {
  try {
    run(parse(count, values));
  } catch (const adagp::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return e.exit_code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}

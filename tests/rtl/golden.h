#pragma once
// What a program does to the machine's memories, bit by bit and without clock cycles. Torch-free.
// Descriptors take effect one after the other: the RTL gives the same bits when the program's
// `wait` bits keep apart what depends on each other.

#include <array>
#include <cstdint>
#include <vector>

#include "adagp/sim/rtl/descriptor.h"

namespace adagp::rtl {

class Golden {
 public:
  // The outside memory has `beats` rows of machine.lanes() words; all memories start at 0.
  Golden(const Machine& machine, std::size_t beats);

  // Runs the descriptors of this phase. Throws DataError for a program or an outside address that
  // the machine does not have.
  void run_batch(const Program& program, Phase phase);
  void run(const Program& program, const Schedule& schedule);

  std::vector<std::uint32_t>& outside() { return outside_; }
  std::uint32_t& at(Buffer b, std::uint64_t row, int lane);

 private:
  // The state of one array: its weights, and its stationary sums.
  struct Cells {
    int rows, cols;
    std::vector<std::uint16_t> weights;
    std::vector<std::uint32_t> sums;
  };

  void execute(const Descriptor& d);
  struct Rows {
    Buffer x, y, g, d, w, o;
  };
  void tile(const Descriptor& d, Cells& cells, const Rows& rows);
  void transfer(const Descriptor& d);
  void vector_op(const Descriptor& d);
  void error(const Descriptor& d, std::uint64_t row, std::uint64_t index);
  void slope(const Descriptor& d, std::uint64_t row, std::uint64_t index);
  void update(const Descriptor& d, std::uint64_t row, std::uint64_t gradient_row, Buffer gradient);
  void reorganise(const Descriptor& d);
  void measure(std::uint64_t row);
  void regroup(const std::vector<std::uint32_t>& row, Buffer to, std::uint64_t first,
               std::uint32_t gs, std::uint32_t rot);

  Machine machine_;
  std::array<std::vector<std::uint32_t>, kBufferCount> memory_;
  std::vector<std::uint32_t> outside_;
  Cells main_, pred_;
  std::uint32_t scale_ = 0;    // the predictor's of the layer at hand
  std::uint64_t squares_ = 0;  // of the gradients that are being measured
};

}  // namespace adagp::rtl

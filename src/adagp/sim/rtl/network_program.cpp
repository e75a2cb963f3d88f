#include "adagp/sim/rtl/network_program.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/rtl/cycle_model.h"
#include "adagp/sim/rtl/layer_program.h"
#include "adagp/sim/rtl/predictor_step.h"

namespace adagp::rtl {
namespace {

// Rows of W leave by the port through which tiles load their weights, and rows of O come by the one
// through which tiles drain their gradients.
bool keeps_tiles_off(const Descriptor& d) {
  const auto buffer = static_cast<Buffer>(d.kind);
  return static_cast<Op>(d.op) == Op::kDma &&
         (d.store != 0 ? buffer == Buffer::kW : buffer == Buffer::kO);
}

// One descriptor of the second program after each tile of the first.
void merge(Program& out, const Program& main, const Program& beside) {
  size_t next = 0;
  bool moves = false;
  for (Descriptor d : main) {
    const bool tile = static_cast<Op>(d.op) == Op::kTile;
    if (tile && moves) d.wait |= bit(Engine::kDma);
    out.push_back(d);
    if (!tile) continue;
    moves = next < beside.size() && keeps_tiles_off(beside[next]);
    if (next < beside.size()) out.push_back(beside[next++]);
  }
  out.insert(out.end(), beside.begin() + static_cast<std::ptrdiff_t>(next), beside.end());
}

}  // namespace

NetworkProgram make_program(const Machine& machine, const Network& network) {
  check(machine);
  if (network.layers.empty()) throw UsageError("rtl: the network has no layer with weights");
  Outside outside;
  const Memories memories(machine, network, outside);
  std::vector<LayerProgram> layers;
  for (size_t l = 0; l < network.layers.size(); ++l) {
    layers.emplace_back(machine, memories, network, l, outside);
  }
  const Program step =
      machine.learns() ? PredictorStep(machine, memories, outside).program() : Program{};
  std::int64_t begun = 0;  // rows of the predictor's gradients
  for (size_t l = layers.size(); l-- > 0;) {
    layers[l].learn_behind(begun);
    begun = std::max(begun, network.layers[l].k);
  }
  NetworkProgram made;
  Program& out = made.program;
  // A run that begins with an exact batch has them.
  if (machine.has_predictor()) memories.load_constants(out);
  // The second array learns with what lies in its memory, which is empty in the first batch.
  if (machine.learns_beside()) memories.load_predictor(out);
  Program beside;  // the predictor's work on the layer before
  for (LayerProgram& layer : layers) {
    merge(out, layer.forward(), beside);
    beside = machine.has_predictor_array() ? layer.beside() : Program{};
    made.forward_end.push_back(out.size());
  }
  out.insert(out.end(), beside.begin(), beside.end());
  // A GP batch is over here, and need not pass over the descriptors of the backward pass.
  out.push_back(descriptor(Op::kEnd, kPredictedPhase, 0));
  made.forward_end.back() = out.size();
  made.backward_end.resize(layers.size());
  beside.clear();  // what the predictor learns from the layer behind
  for (size_t l = layers.size(); l-- > 0;) {
    merge(out, layers[l].backward(), beside);
    beside = machine.learns_beside() ? layers[l].learn_beside() : Program{};
    made.backward_end[l] = out.size();
  }
  out.insert(out.end(), beside.begin(), beside.end());
  if (machine.learns_beside()) memories.store_gradients(out);
  out.insert(out.end(), step.begin(), step.end());
  // What the predictor learned comes back to its memory.
  if (machine.has_predictor_memory()) memories.load_predictor(out);
  out.push_back(descriptor(Op::kEnd, kEveryPhase, 0));
  made.backward_end[0] = out.size();
  made.outside_beats = outside.size();
  const size_t room = size_t{1} << machine.descriptor_bits;
  if (out.size() > room) {
    throw UsageError(core::cat("rtl: the program of ", network.name, " has ", out.size(),
                               " descriptors, and the program memory holds ", room,
                               " (rtl.descriptor_bits, up to ", kMaxDescriptorBits, ")"));
  }
  if (outside.size() > std::int64_t{0xffffffff}) {
    throw UsageError(core::cat("rtl: the tensors of ", network.name, " need ", outside.size(),
                               " rows of the outside memory, which has 2^32; use a smaller batch "
                               "or larger memories (rtl.x_bits, rtl.y_bits)"));
  }
  check(machine, out);
  for (const Descriptor& d : out) encode(d);  // or a field is too narrow
  return made;
}

LayerCycles layer_cycles(const Machine& machine, const NetworkProgram& program, Phase phase) {
  std::uint64_t before = 0;
  const auto part = [&](size_t end) {
    const std::span begun(program.program.data(), end);
    const std::uint64_t now = predict_batch(machine, begun, phase).cycles;
    return now - std::exchange(before, now);
  };
  LayerCycles out;
  for (const size_t end : program.forward_end) out.forward.push_back(part(end));
  out.backward.resize(program.backward_end.size());
  for (size_t l = program.backward_end.size(); l-- > 0;) {
    out.backward[l] = part(program.backward_end[l]);
  }
  return out;
}

}  // namespace adagp::rtl

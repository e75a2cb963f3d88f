#pragma once
// What the devices of a pipeline do, in order: the one language of the generators, the checker, the
// event simulator and the executor.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace adagp::pipeline {

enum class Kind : uint8_t {
  kForward,
  kBackward,        // both gradients at once
  kInputGradient,   // the half that the stage before waits for
  kWeightGradient,  // the half nobody waits for
  kPredictUpdate,   // GP: predicted gradients applied to the stage's weights, once a batch
  kSend,
  kReceive,
  kAllReduce,  // BP: gradients of the replicas of a stage; GP: their summaries
  kOptimizer,  // BP: the update, and the step of the predictor; once a batch
};
std::string kind_name(Kind kind);  // "forward", "input-gradient", ...

// What a batch is.
enum class Phase : uint8_t {
  kBackprop,
  kPredict,
  kLowRes,  // BP with smaller images: all its passes are cheaper
};
std::string phase_name(Phase phase);   // in --phases: "bp", "gp", "low"
std::string phase_title(Phase phase);  // "BP", "GP", "low BP"

struct Op {
  Kind kind = Kind::kForward;
  Phase phase = Phase::kBackprop;  // of its batch
  bool gradient = false;  // of a send or receive: of the loss by the activations, not these
  int32_t batch = 0;      // in the sequence of phases, from 0
  int32_t micro = 0;      // micro-batch of the batch; -1: of the whole batch
  // Part of the network, in its order; a device may hold several, and -1 are all of them. A send or
  // receive has the stage of its own device's compute op, not of the peer's.
  int32_t stage = 0;
  int32_t replica = 0;  // of the network: Chimera has two, whose stages run in opposite directions
  int32_t peer = -1;    // the other device of a send or receive

  bool operator==(const Op&) const = default;
};

using OpList = std::vector<Op>;  // of one device

struct Schedule;

// Where stages live and how they take turns.
struct Placement {
  std::string schedule;                 // name in the table of schedules
  std::shared_ptr<const Schedule> own;  // a schedule that is not in the table; null: none
  int devices = 1;
  int stages = 1;    // of the network: devices x chunks
  int replicas = 1;  // of the network
  int micro_batches = 1;
  double gp_share = 1;      // of a forward pass: what it takes in a GP batch (smaller images)
  double low_share = 0.25;  // of every pass: what it takes in a low-resolution batch
  std::vector<int> homes;   // the device of each stage; empty: stages go round the devices

  // Micro-batch m of a batch passes through this replica.
  int replica_of(int micro) const;
  int device_of(int stage, int replica) const;
  int chunks() const { return stages / devices; }  // stages of a replica per device
};

}  // namespace adagp::pipeline

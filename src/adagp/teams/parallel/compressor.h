#pragma once
// The mean of several copies' gradients, made from fewer bytes than all of their numbers have.
//
// What a message leaves out is not lost: each process adds it to its next gradient ("error
// feedback"). Tensors with fewer than two dimensions (biases, norms) are small and travel whole.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/optim/optimizer.h"
#include "adagp/teams/comm/group.h"

namespace adagp::parallel {

class Compressor {
 public:
  virtual ~Compressor() = default;

  // Replaces each parameter's gradient by the mean of what the copies decode. All copies get the
  // same bits.
  void average(const std::vector<optim::Param>& params, const std::string& doing);

  // What this process has sent so far, in the ring algorithms of the backends.
  double bytes() const { return bytes_; }

  // What was left out, by parameter ("residual.conv1.weight"), and what a kind keeps.
  virtual std::map<std::string, at::Tensor> state() const;
  virtual void load_state(const std::map<std::string, at::Tensor>& state);

 protected:
  Compressor(comm::Group& group, const std::vector<optim::Param>& params);

  struct Decoded {
    at::Tensor mean;  // over the copies, of the matrix's shape
    at::Tensor kept;  // what this process need not send again
  };
  // `matrices`: fp32 [rows, the rest], gradient and residual; of the parameters in matrices().
  virtual std::vector<Decoded> exchange(const std::vector<at::Tensor>& matrices,
                                        const std::string& doing) = 0;

  const std::vector<size_t>& matrices() const { return matrices_; }  // those that are compressed
  const std::string& name(size_t matrix) const { return names_[matrix]; }
  comm::Group& group() { return group_; }
  // The copies' sum, and every copy's row: collectives that count their bytes.
  void sum(std::vector<at::Tensor>& tensors, const std::string& doing);
  std::vector<at::Tensor> gather(const at::Tensor& row, const std::string& doing);

 private:
  comm::Group& group_;
  std::vector<size_t> matrices_, whole_;  // parameters
  std::vector<std::string> names_;        // of the matrices
  std::vector<at::Tensor> residuals_;     // of the matrices
  double bytes_ = 0;
};

// Bytes that one of `processes` sends in a ring: to add up so many bytes, or to show its own to
// all.
double bytes_of_sum(double bytes, int processes);
double bytes_of_gather(double bytes, int processes);

// A family of compressors, of another library: what a configuration asks for ("compress.kind =
// top-k"; empty: nothing), and how that is made. Throws UsageError for an option out of range.
struct CompressorEntry {
  std::string (*asked)(const config::RunConfig& config);
  std::unique_ptr<Compressor> (*make)(const config::RunConfig& config, comm::Group& group,
                                      const std::vector<optim::Param>& params);
};
// Before the first team.
void add_compressor(const CompressorEntry& entry);
// Empty, and null, where the configuration asks for none.
std::string compressor_of(const config::RunConfig& config);
std::unique_ptr<Compressor> make_compressor(const config::RunConfig& config, comm::Group& group,
                                            const std::vector<optim::Param>& params);

}  // namespace adagp::parallel

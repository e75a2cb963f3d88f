#pragma once
// GP batches on a GPU: the weights of a layer move while the layers behind it still compute.

#include <vector>

#include "adagp/engine/step/session.h"
#include "adagp/gpu/device/side_stream.h"

namespace adagp::step {

// Whether a GP batch may begin with its predictions before its forward pass ends.
enum class Early { kNo, kAllowed };

// While it exists, the forward pass of the session tells it of each layer. Whenever enough weights
// of convolutions have their summaries, the predictor moves them on a stream of their own. A weight
// must not move before its last use in the pass, so nothing is done early unless the pass before
// used each layer once, and no two layers share a weight. An exception in the pass leaves the
// weights moved that were early. One object is for one forward pass.
class EarlyUpdates {
 public:
  EarlyUpdates(Session& session, predictor::GradientSink& sink, Early early);
  ~EarlyUpdates();
  EarlyUpdates(const EarlyUpdates&) = delete;
  EarlyUpdates& operator=(const EarlyUpdates&) = delete;

  // To be called when the pass is over: queues the last early updates, and is the sink for the
  // layers that are left.
  predictor::GradientSink& rest();
  // What is queued from now on begins when the early updates are done.
  void join() { side_.join(); }

 private:
  // The layers of `from` with `which[l]`.
  class Part : public predictor::GradientSink {
   public:
    struct Launches {
      bool beside = false, behind_pool = false;  // as in Direct
    };
    Part(predictor::GradientSink& from, std::vector<char> which, Launches launches)
        : from_(from), which_(std::move(which)), launches_(launches) {}
    bool wants(size_t layer) const override { return which_[layer] != 0 && from_.wants(layer); }
    void accept(size_t layer, const at::Tensor& gradient) override {
      from_.accept(layer, gradient);
    }
    void accept_bias(size_t layer, const at::Tensor& gradient) override {
      from_.accept_bias(layer, gradient);
    }
    std::optional<Direct> direct() const override;
    void leave_out(size_t layer) { which_[layer] = 0; }

   private:
    predictor::GradientSink& from_;
    std::vector<char> which_;
    Launches launches_;
  };

  static bool possible(const Session& s, const predictor::GradientSink& sink);
  // After a layer's report: fixes where the updates of the layers that are ready begin.
  void look();
  void queue_updates();

  Session& s_;
  predictor::GradientSink& sink_;
  device::SideStream side_;
  std::vector<char> next_layers_;     // of queue_updates(); empty: none
  std::vector<size_t> rows_to_make_;  // those of them whose summaries wait for cells
  Part rest_;
};

}  // namespace adagp::step

#include "adagp/base/core/error.h"
#include "adagp/teams/comm/backend.h"

#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace adagp::comm {

#ifdef USE_C10D_NCCL

bool have_nccl() {
  return true;
}

BackendPtr make_nccl(const BackendRequest& request) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = request.timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(request.store, request.rank, request.size,
                                                     options);
}

#else

bool have_nccl() {
  return false;
}

BackendPtr make_nccl(const BackendRequest&) {
  throw UsageError(
      "parallel: this program was built without NCCL: that needs -DADAGP_CUDA=ON and nccl.h (of "
      "the nvidia-nccl package); --parallel backend=gloo does without");
}

#endif

}  // namespace adagp::comm

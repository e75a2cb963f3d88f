#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/backend.h"
#include "adagp/teams/comm/group.h"
#include "adagp/teams/comm/store_place.h"

#ifdef USE_C10D_GLOO
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif

namespace adagp::comm {

#ifdef USE_C10D_GLOO

namespace {

constexpr std::chrono::seconds kPatience{5};  // for processes of a busy machine

}  // namespace

bool have_gloo() {
  return true;
}

std::string why_no_gloo() {
  return "";
}

BackendPtr make_gloo(const BackendRequest& request) {
  using Gloo = c10d::ProcessGroupGloo;
  // Gloo tries five times to connect. All are known to be there by now.
  const auto for_connecting = std::max<std::chrono::milliseconds>(request.timeout / 5, kPatience);
  auto options = Gloo::Options::create(std::min(request.timeout, for_connecting));
  options->threads = 2;
  const char* interfaces = std::getenv("GLOO_SOCKET_IFNAME");
  if (interfaces != nullptr && *interfaces != '\0') {
    for (const auto& name : core::split(interfaces, ',')) {
      options->devices.push_back(Gloo::createDeviceForInterface(name));
    }
  } else if (on_this_machine(request.master)) {
    // All are on this machine, whatever its name resolves to.
    options->devices.push_back(Gloo::createDeviceForHostname(request.master));
  } else {
    options->devices.push_back(Gloo::createDefaultDevice());
  }
  auto made = c10::make_intrusive<Gloo>(request.store, request.rank, request.size, options);
  made->setTimeout(request.timeout);
  return made;
}

#else

bool have_gloo() {
  return false;
}

std::string why_no_gloo() {
#ifdef ADAGP_GLOO_UNFIT
  return "the gloo headers found when it was built do not fit this LibTorch; install a libgloo-dev "
         "of its time (gloo_probe.log in the build folder says what is wrong) and build in a new "
         "folder";
#else
  return "gloo's headers were not found when it was built; install libgloo-dev, then: rm "
         "build/CMakeCache.txt build/build.ninja && make";
#endif
}

BackendPtr make_gloo(const BackendRequest&) {
  throw UsageError("parallel: this program was built without gloo: " + why_no_gloo());
}

#endif

}  // namespace adagp::comm

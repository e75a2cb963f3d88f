// adagp/adagp.h offers both halves where both are installed.

#include <adagp/adagp.h>

adagp::schedule::Phase first_batch(const adagp::schedule::Schedule& schedule) {
  return schedule.at(0, 0);
}

#ifdef ADAGP_WITH_TORCH
std::shared_ptr<adagp::models::Net> network() {
  return adagp::models::build("vgg8s", {});
}
#endif

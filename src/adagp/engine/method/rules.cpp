// Rules that choose the examples of an epoch; their steps are those of the method they join.

#include "adagp/base/plan/planned_methods.h"
#include "adagp/engine/method/entries.h"

namespace adagp::method {
namespace {

MethodEntry rule(const std::string& name, Standing standing) {
  const plan::PlannedMethod& method = plan::planned_method(name);
  return {
      .name = method.name, .about = method.about, .standing = standing, .select = method.select};
}

}  // namespace

MethodEntry entries::stored_loss() {
  return rule("stored-loss", Standing::kRecommended);
}
MethodEntry entries::infobatch() {
  return rule("infobatch", Standing::kPublished);
}

}  // namespace adagp::method

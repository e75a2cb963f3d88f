#pragma once
// Parts of a session (step/session_part.h) that this library makes.

#include "adagp/engine/step/session.h"

namespace adagp::step {

std::unique_ptr<SessionPart> make_fast_widths(Session& session);  // precision = fast
std::unique_ptr<SessionPart> make_edram(Session& session);        // edram.error

}  // namespace adagp::step

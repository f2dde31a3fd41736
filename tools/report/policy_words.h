// What policies do, in the words of the lists that kvsim itself has of them.
#pragma once

#include <string>

#include "tools/report/view.h"

namespace kvsim::report {

/// "draft_verify: drafts on the compressed KV, .... staggered: verifications spread ...." of a run's policies; empty
/// where this kvsim knows none of them.
[[nodiscard]] std::string policy_words(const Json& result);

}  // namespace kvsim::report

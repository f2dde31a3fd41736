#include "tools/report/policy_words.h"

#include <fmt/format.h>

#include "sim/cache/placements.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::report {

std::string policy_words(const Json& result) {
  std::string said;
  const auto add = [&said](std::string_view name, std::string_view description) {
    said += fmt::format("{}{}: {}.", said.empty() ? "" : " ", name, description);
  };
  const std::string decode = text(result, {"details", "policies", "decode"});
  const std::string schedule = text(result, {"details", "policies", "schedule"});
  const std::string placement = text(result, {"details", "policies", "placement"});
  const serving::DecodePolicy* decoding = serving::find_decode_policy(decode);
  if (const auto* stored = cache::find_placement(placement)) add(placement, stored->description);
  if (decoding) add(decode, decoding->description);
  if (decoding && decoding->verifies && placement.empty() && !has(result, {"details", "pools"})) {
    if (const auto* scheduling = serving::find_schedule_policy(schedule)) add(schedule, scheduling->description);
  }
  return said;
}

}  // namespace kvsim::report

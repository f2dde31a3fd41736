#include "tools/report/policy_words.h"

#include <fmt/format.h>

#include "sim/cache/placements.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::report {

namespace {

/// As the scenario reference has it; empty for what does not put prompts together from chunks.
std::string prefill_words(std::string_view policy) {
  if (policy == "recompute" || policy == "stored" || policy == "prefix_cache") return {};
  const schema::FieldInfo* prefill = scenario::scenario_schema().info().find("prefill");
  const schema::FieldInfo* choice = prefill && prefill->object ? prefill->object->find("policy") : nullptr;
  if (!choice) return {};
  for (const schema::Word& word : choice->scalar.words()) {
    if (word.name == policy) return word.description;
  }
  return {};
}

}  // namespace

std::string policy_words(const Json& result) {
  std::string said;
  const auto add = [&said](std::string_view name, std::string_view description) {
    said += fmt::format("{}{}: {}.", said.empty() ? "" : " ", name, description);
  };
  const std::string decode = text(result, {"details", "policies", "decode"});
  const std::string schedule = text(result, {"details", "policies", "schedule"});
  const std::string prefill = text(result, {"details", "policies", "prefill"});
  const std::string placement = text(result, {"details", "policies", "placement"});
  const serving::DecodePolicy* decoding = serving::find_decode_policy(decode);
  if (const std::string said_of_prefill = prefill_words(prefill); !said_of_prefill.empty())
    add(prefill, said_of_prefill);
  if (const auto* stored = cache::find_placement(placement)) add(placement, stored->description);
  if (decoding) add(decode, decoding->description);
  if (decoding && decoding->verifies && placement.empty() && !has(result, {"details", "pools"})) {
    if (const auto* scheduling = serving::find_schedule_policy(schedule)) add(schedule, scheduling->description);
  }
  return said;
}

}  // namespace kvsim::report

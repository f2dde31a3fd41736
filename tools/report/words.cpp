#include "tools/report/words.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/cache/placement/placements.h"
#include "sim/routing/router.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/schedule_policy.h"
#include "tools/report/best_policy.h"
#include "tools/report/parts.h"
#include "tools/results/capacity.h"
#include "tools/results/functional.h"
#include "tools/results/numbers.h"

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

/// Effect of a compressor in front of the tiers on stored prompts; empty where the scenario names none.
std::string compressor_words(const Json& result) {
  const Json scenario = resolved_section(result, "placement");
  const Json& compressor = at(scenario, {"placement", "compressor"});
  const std::string name = text(compressor, {"name"});
  if (name.empty()) return {};
  const auto kept = number(scenario, {"placement", "keep_ratio"});
  if (!kept) return fmt::format("{}: prompts are stored compressed, and read as they were stored", name);
  return fmt::format("{}, keep ratio {}: what is dropped of a prompt is neither loaded nor attended to", name,
                     plain(*kept));
}

/// Words for full_kv, where what was stored is not the full KV.
constexpr const char* kReadsWhatIsKept = "every step reads all that is kept of the KV, which stays in GPU memory";

}  // namespace

planner::capacity::Load load_of(const Json& capacity) {
  using planner::capacity::Load;
  const std::string words = text(capacity, {"load"});
  for (const Load load : {Load::sessions, Load::users}) {
    if (words == planner::capacity::words_of(load)) return load;
  }
  return Load::requests;
}

std::optional<std::string> required_load(const Json& capacity) {
  const double rate = number_or_nan(capacity, {"rate_required"});
  if (!std::isfinite(rate)) return std::nullopt;
  const planner::capacity::Load load = load_of(capacity);
  if (load == planner::capacity::Load::users) return planner::capacity::load_text(rate, load);
  const auto requests = number(capacity, {"requests_per_s_required"});
  return fmt::format("{} {}{}", plain(rate), planner::capacity::words_of(load),
                     requests ? fmt::format(" ({} requests/s)", results::figure(*requests)) : std::string());
}

std::string sizes_of(const Json& configuration) {
  std::string said;
  for (const auto& [tier, bytes] : at(configuration, {"sizes_bytes"}).items()) {
    if (bytes.is_number()) said += ", " + results::size_words(tier, bytes.get<double>());
  }
  return said;
}

bool stores_prompts(const Json& capacity) {
  const Json& all = at(capacity, {"configurations"});
  return std::any_of(all.begin(), all.end(), [](const Json& c) { return number(c, {"ssd_gb"}).has_value(); });
}

std::string output_of(const Json& configuration) {
  if (truth(configuration, {"lossless"})) return "lossless";
  const auto score = number(configuration, {"mean_quality"});
  const auto functional = number(configuration, {"least_functional"});
  return fmt::format("{}; {}", score ? results::figure(*score) : "lossy",
                     functional ? fmt::format("functional {}", results::functional_text(false, *functional))
                                : std::string(results::kFunctionalUnknown));
}

std::string pooling(const Json& capacity, const Json& configuration) {
  const double rate = number_or_nan(capacity, {"rate_required"});
  const double alone = number_or_nan(configuration, {"rate_per_replica"});
  const double replicas = number_or_nan(configuration, {"fleet", "replicas"});
  if (!(rate > alone * replicas) || text(capacity, {"router"}) == routing::session_router) return {};
  return fmt::format(
      "\nThat is more than {} times the {} of a replica alone: in a fleet each request goes to the "
      "least loaded replica, so queues stay short at a higher load.",
      plain(replicas), results::load_figure(load_of(capacity), alone));
}

std::string at_least(double share) {
  constexpr double parts = 1e4;
  return std::isfinite(share) ? fmt::format("{:.2f} %", std::floor(share * parts + 1e-9) / parts * 100) : "-";
}

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
  const bool verified = decoding && decoding->verifies;
  if (const std::string dropped = compressor_words(result); !dropped.empty() && !verified) said += " " + dropped + ".";
  const bool whole = placement.empty() || results::quality_of(result).lossless;
  if (decoding) add(decode, decode == "full_kv" && !whole ? kReadsWhatIsKept : decoding->description);
  if (decoding && decoding->verifies && placement.empty() && !has(result, {"details", "pools"})) {
    if (const auto* scheduling = serving::find_schedule_policy(schedule)) add(schedule, scheduling->description);
  }
  return said;
}

std::string factor_name(std::string_view key) {
  if (key == "hbm_capacity") return "GPU memory (HBM capacity)";
  if (key == "hbm_bandwidth") return "HBM bandwidth";
  if (key == "link_bandwidth") return "link bandwidth (host to GPU)";
  if (key == "agreement") return "agreement of the drafts";
  if (key == "context") return "context length";
  if (key == "launches") return "launching kernels";
  if (key == "host") return "scheduling on the CPU";
  if (key == "fixed") return "fixed times of kernels";
  if (key == "front_end") return "the front end (turning prompts into tokens)";
  std::string name(key);
  for (char& c : name) c = c == '_' ? ' ' : c;
  return name;
}

std::string time_part_name(std::string_view key) {
  if (key == "link") return "waiting for a link";
  return key == "idle" ? "idling" : factor_name(key);
}

std::string explained_plan(const Json& explanation) {
  const std::string plan = plan_text(at(explanation, {"plan"}));
  if (plan.empty()) return {};
  return fmt::format("\nThis is of the plan that the closed forms choose, {}: {} tokens/s simulated.", plan,
                     interval_text(number_or_nan(explanation, {"binding", "output_tokens_per_s"}),
                                   number_or_nan(explanation, {"binding", "half_width_95"}), results::figure));
}

std::string time_and_memory(const Json& explanation) {
  if (text(explanation, {"binding", "resource"}) != "hbm_capacity") return {};
  const double share = number_or_nan(explanation, {"binding", "time_shares", "hbm_bandwidth"});
  constexpr double most = 0.5;
  if (!(share > most)) return {};
  return fmt::format(
      "\nThe GPUs spend {} of their time reading memory, whatever is decoded: how many requests share each "
      "reading is what memory decides.",
      results::percent(share));
}

}  // namespace kvsim::report

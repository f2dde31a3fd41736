#include "planner/reuse_policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/unknown_policy.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner {
namespace {

using serving::PrefillKind;

struct Entry {
  const char* name;
  PrefillKind prefill;
};
constexpr std::array<Entry, 7> kPolicies{{{"full_recompute", PrefillKind::recompute},
                                          {"recompute", PrefillKind::recompute},
                                          {"prefix_cache", PrefillKind::prefix_cache},
                                          {"full_reuse", PrefillKind::full_reuse},
                                          {"selective", PrefillKind::selective},
                                          {"cacheblend", PrefillKind::cacheblend},
                                          {"epic", PrefillKind::epic}}};

[[noreturn]] void refuse(const std::string& policy, const std::string& why) {
  throw schema::InputError(fmt::format("--policies {}: {}", policy, why));
}

const Entry& entry_of(const std::string& name) {
  const auto* at = std::find_if(kPolicies.begin(), kPolicies.end(), [&](const Entry& e) { return name == e.name; });
  if (at != kPolicies.end()) return *at;
  std::vector<std::string> names;
  for (const Entry& e : kPolicies) names.emplace_back(e.name);
  unknown_policy("prefill policy", name, " of prompts made of chunks", names);
}

template <class Number>
std::optional<Number> number_in(const std::string& word) {
  Number number{};
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || rest != word.data() + word.size()) return std::nullopt;
  return number;
}

void set_number(models::ReuseSpec& reuse, PrefillKind prefill, const std::string& policy, const std::string& word) {
  if (prefill == PrefillKind::selective || prefill == PrefillKind::cacheblend) {
    const auto rho = number_in<double>(word);
    if (!rho || !(*rho >= 0 && *rho <= 1)) {
      refuse(policy, fmt::format("expected a share of the tokens from 0 to 1 after the colon, not \"{}\"", word));
    }
    reuse.rho = *rho;
  } else if (prefill == PrefillKind::epic) {
    const auto tokens = number_in<std::int64_t>(word);
    if (!tokens || *tokens < 0) {
      refuse(policy, fmt::format("expected a number of tokens of every chunk after the colon, not \"{}\"", word));
    }
    reuse.link_tokens = *tokens;
  } else {
    refuse(policy, "it has no number: selective and cacheblend have rho (selective:0.25), epic its tokens (epic:16)");
  }
}

}  // namespace

scenario::Scenario with_reuse_policy(const scenario::Scenario& scenario, const std::string& policy) {
  const std::size_t colon = policy.find(':');
  const PrefillKind prefill = entry_of(policy.substr(0, colon)).prefill;
  scenario::Scenario changed = scenario;
  if (colon != std::string::npos) set_number(changed.reuse, prefill, policy, policy.substr(colon + 1));
  try {
    scenario::set_prefill(changed, prefill);
    scenario::check_configuration(changed.serving);
  } catch (const serving::ConfigurationError& e) {
    refuse(policy, e.what());
  }
  return changed;
}

std::string reuse_policy_name(PrefillKind prefill) {
  const auto* at =
      std::find_if(kPolicies.begin(), kPolicies.end(), [&](const Entry& e) { return prefill == e.prefill; });
  return at == kPolicies.end() ? "stored" : at->name;
}

std::vector<std::string> default_reuse_policies(const scenario::Scenario& scenario) {
  if (!scenario.chunk_placement) return {"full_recompute"};
  return {"full_recompute", "prefix_cache", "full_reuse", "epic", "cacheblend", "selective"};
}

}  // namespace kvsim::planner

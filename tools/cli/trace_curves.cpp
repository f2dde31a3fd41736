#include "tools/cli/trace_curves.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/catalogue/catalogue.h"
#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "models/schema/units.h"
#include "sim/cache/eviction/replay.h"

namespace kvsim::cli {
namespace {

using schema::InputError;

constexpr std::string_view kLru = "lru";  // has a curve for all capacities at once

const cache::EvictionPolicyEntry& policy_of(const std::string& name) {
  if (const auto* entry = cache::find_eviction_policy(name)) return *entry;
  std::vector<std::string> names;
  for (const cache::EvictionPolicyEntry& entry : cache::eviction_policies()) names.emplace_back(entry.name);
  throw InputError(fmt::format("--policies: unknown policy \"{}\"{}", name, schema::suggest(name, names)));
}

double positive(const char* option, schema::Dimension dimension, const std::string& text) {
  try {
    const double value = schema::parse_real(dimension, text);
    if (value > 0) return value;
  } catch (const schema::UnitError& e) {
    throw InputError(fmt::format("{}: {}", option, e.what()));
  }
  throw InputError(fmt::format("{}: must be above 0, found \"{}\"", option, text));
}

double read_bandwidth(const CurveOptions& options) {
  return positive("--read", schema::Dimension::bandwidth, options.read);
}

double prefill_rate(const CurveOptions& options) {
  return positive("--prefill", schema::Dimension::rate, options.prefill);
}

models::LlmSpec model_of(const CurveOptions& options) {
  return models::Catalogue::built_in().model(options.model, schema::Origin("--model"));
}

std::vector<results::PolicyHitRates> policy_hit_rates(const std::vector<models::RequestSpec>& requests,
                                                      const results::HitRateView& view,
                                                      const std::vector<std::string>& names) {
  std::vector<results::PolicyHitRates> policies;
  if (names.empty()) return policies;
  const std::vector<std::uint64_t> capacities = results::curve_capacities(view);
  const cache::BlockChains chains = cache::block_chains(requests);
  for (const std::string& name : names) {
    results::PolicyHitRates& rates = policies.emplace_back();
    rates.policy = name;
    for (const std::uint64_t blocks : capacities) {
      rates.hit_rate.push_back(name == kLru ? view.curve.hit_rate(blocks)
                                            : cache::replay_chains(policy_of(name), blocks, chains).hit_rate());
    }
  }
  return policies;
}

}  // namespace

void check_curve_options(const CurveOptions& options, const models::TraceFormat& format) {
  if (!options.curve) {
    const auto refuse = [](bool given, const char* option, const char* what) {
      if (given) throw InputError(fmt::format("{} {}: add --curve", option, what));
    };
    refuse(!options.policies.empty(), "--policies", "adds hit rates to the curve");
    refuse(!options.read.empty(), "--read", "is the bandwidth at which the curve's cache is read");
    refuse(!options.prefill.empty(), "--prefill", "is the rate at which what the curve's cache lacks is prefilled");
    refuse(!options.model.empty(), "--model", "gives the curve's capacities in bytes");
    return;
  }
  if (format.block_tokens == 0) {
    throw InputError(fmt::format("--curve: traces of format {} have no block hashes", format.name));
  }
  for (auto name = options.policies.begin(); name != options.policies.end(); ++name) {
    policy_of(*name);
    if (std::find(options.policies.begin(), name, *name) != name) {
      throw InputError(fmt::format("--policies: \"{}\" is named twice", *name));
    }
  }
  if (!options.model.empty()) (void)model_of(options);
  if (options.read.empty() && options.prefill.empty()) return;
  if (options.read.empty()) throw InputError("--prefill: the time to the first token needs --read BANDWIDTH too");
  if (options.prefill.empty()) throw InputError("--read: the time to the first token needs --prefill RATE too");
  if (options.model.empty()) throw InputError("--read: what is read are bytes of a model's KV: add --model NAME");
  (void)read_bandwidth(options);
  (void)prefill_rate(options);
}

std::optional<TraceCurves> trace_curves(const std::vector<models::RequestSpec>& requests,
                                        const models::TraceFormat& format, const CurveOptions& options) {
  if (!options.curve) return std::nullopt;
  TraceCurves curves{{models::hit_rate_curve(requests), format.block_tokens, std::nullopt}, {}, std::nullopt};
  if (!options.model.empty()) {
    curves.hit_rates.kv_bytes_per_token = static_cast<double>(model_of(options).kv_bytes_per_token());
  }
  curves.policies = policy_hit_rates(requests, curves.hit_rates, options.policies);
  if (!options.read.empty()) {
    results::LatencyView& latency = curves.latency.emplace();
    latency.curve = models::latency_curve(requests, format.block_tokens);
    latency.read_bytes_per_s = read_bandwidth(options);
    latency.prefill_tokens_per_s = prefill_rate(options);
    latency.times = {*curves.hit_rates.kv_bytes_per_token / latency.read_bytes_per_s, 1 / latency.prefill_tokens_per_s};
  }
  return curves;
}

void add_to(results::Json& document, const TraceCurves& curves) {
  document["hit_rate_curve"] = results::hit_rate_json(curves.hit_rates);
  if (!curves.policies.empty()) {
    document["policy_curves"] = results::policy_curves_json(curves.hit_rates, curves.policies);
  }
  if (curves.latency) document["latency_curve"] = results::latency_curve_json(curves.hit_rates, *curves.latency);
}

void add_to(results::Page& page, const TraceCurves& curves) {
  page.tables.push_back(results::hit_rate_table(curves.hit_rates));
  if (!curves.policies.empty()) {
    page.tables.push_back(results::policy_curves_table(curves.hit_rates, curves.policies));
  }
  if (curves.latency) page.tables.push_back(results::latency_curve_table(curves.hit_rates, *curves.latency));
}

}  // namespace kvsim::cli

// kvsim workload info: what a recorded trace holds.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/catalogue/catalogue.h"
#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "models/schema/units.h"
#include "models/workload/trace_reader.h"
#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/eviction/replay.h"
#include "tools/cli/command.h"
#include "tools/cli/commands/workload.h"
#include "tools/cli/simulating.h"
#include "tools/results/section.h"
#include "tools/results/trace.h"

namespace kvsim::cli {
namespace workload_internal {
namespace {

struct CurveOptions {
  bool curve = false;
  std::vector<std::string> policies;
  std::string model;
  std::string read;     ///< bandwidth of the cache
  std::string prefill;  ///< tokens per second
};

struct Options {
  std::string trace;
  TraceArguments reading;
  bool json = false;
  CurveOptions curves;
};

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
  models::LlmSpec model = models::Catalogue::built_in().model(options.model, schema::Origin("--model"));
  if (model.grows_evenly()) return model;
  throw InputError(
      fmt::format("--model {}: what a stored token takes in layers with a {} depends on where a prefix "
                  "ends: use a model whose layers attend to all tokens",
                  options.model, model.state.layers > 0 ? "state" : "window"));
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

/// Throws schema::InputError for options that do not go together, and for unknown names with the nearest. To be called
/// before the trace is read.
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

/// Hit rates and times against the capacity of a prefix cache; nothing without options.curve.
std::optional<results::TraceCurves> trace_curves(const std::vector<models::RequestSpec>& requests,
                                                 const models::TraceFormat& format, const CurveOptions& options) {
  if (!options.curve) return std::nullopt;
  results::TraceCurves curves{{models::hit_rate_curve(requests), format.block_tokens, std::nullopt}, {}, std::nullopt};
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

void info(Console& console, const Options& options) {
  const models::TraceFormat format = options.reading.trace_format();
  check_curve_options(options.curves, format);
  models::TraceOptions reading = options.reading.options();
  results::TraceOutcome outcome{{}, options.trace, format, {}};
  reading.left_out = &outcome.left_out;
  reading.first_invalid = &outcome.first_invalid;
  if (options.curves.curve) {
    const auto requests = models::read_trace(format, options.trace, reading);
    static_cast<models::TraceStatistics&>(outcome) = models::describe_trace(requests, format.block_tokens);
    outcome.curves = trace_curves(requests, format, options.curves);
  } else {
    models::TraceDescription description(format.block_tokens);
    models::scan_trace(format, options.trace, reading, [&](models::RequestSpec&& r) { description.add(r); });
    static_cast<models::TraceStatistics&>(outcome) = description.statistics();
  }
  if (options.json) {
    console.print(results::json_text(results::trace_document(outcome)));
  } else {
    console.print(results::trace_page(outcome));
  }
}

std::string policy_names() {
  std::vector<std::string_view> names;
  for (const cache::EvictionPolicyEntry& policy : cache::eviction_policies()) names.push_back(policy.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace
}  // namespace workload_internal

std::function<void(Console&)> declare_workload_info(CLI::App& app) {
  using namespace workload_internal;
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("info", "Describe a recorded trace");
  sub->footer(
      "Examples:\n  kvsim workload info trace.jsonl --format mooncake\n"
      "  kvsim workload info log.csv --columns arrival=ts,prompt=in,output=out\n"
      "  kvsim workload info trace.jsonl --format mooncake --curve --policies lru,sieve,belady\n"
      "  kvsim workload info trace.jsonl --format mooncake --curve --model llama-3.1-8b --read \"20 GB/s\" "
      "--prefill 10000/s");
  sub->add_option("TRACE", options->trace, "The trace")->required()->type_name("FILE");
  declare_trace(*sub, options->reading);
  CurveOptions& curves = options->curves;
  sub->add_flag("--curve", curves.curve, "Hit rate of a prefix cache against its capacity");
  sub->add_option("--policies", curves.policies,
                  fmt::format("With --curve: hit rates under these eviction policies: {}", policy_names()))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("P,...");
  sub->add_option("--model", curves.model, "With --curve: capacities in bytes of this model's KV")->type_name("NAME");
  sub->add_option("--read", curves.read,
                  "With --curve, --model and --prefill: mean time to the first token where the cache is read at this "
                  "bandwidth, e.g. \"20 GB/s\"")
      ->type_name("BANDWIDTH");
  sub->add_option("--prefill", curves.prefill, "Tokens per second at which the rest is prefilled, e.g. 10000/s")
      ->type_name("RATE");
  sub->add_flag("--json", options->json, "Print one JSON document");
  return [options](Console& console) { info(console, *options); };
}

}  // namespace kvsim::cli

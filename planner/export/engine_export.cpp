#include "planner/export/engine_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <vector>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "sim/serving/decode_policy.h"

// One line per engine.
#define KVSIM_ENGINES(X) \
  X(vllm)                \
  X(lmcache)

namespace kvsim::planner {

#define X(name) extern const EngineExport name##_export;
KVSIM_ENGINES(X)
#undef X

std::span<const EngineExport* const> engine_exports() {
#define X(name) &name##_export,
  static constexpr std::array kAll{KVSIM_ENGINES(X)};
#undef X
  return kAll;
}

const EngineExport* find_engine_export(std::string_view name) {
  for (const EngineExport* engine : engine_exports()) {
    if (engine->name == name) return engine;
  }
  return nullptr;
}

std::string ExportedPlan::requests() const {
  return open_batch ? "as many requests as fit" : fmt::format("{} requests", point.batch.requests());
}

ExportedPlan exported_plan(const ScenarioPlan& plan, const std::optional<SimulatedPlan>& simulated) {
  const std::string by = fmt::format("by the closed forms ({})", name_of(plan.request.model));
  const auto rate = [&by](double tokens_per_s) { return fmt::format("{:.4g} tokens/s {}", tokens_per_s, by); };
  ExportedPlan out{plan.optimum, false, plan.full_kv, rate(plan.optimum.throughput_tokens_per_s), ""};
  if (plan.full_kv) out.full_kv_found = rate(plan.full_kv->throughput_tokens_per_s);
  if (!simulated) return out;
  const auto measured = [](double tokens_per_s) { return fmt::format("{:.4g} tokens/s simulated", tokens_per_s); };
  out.point = simulated->best().point;
  out.open_batch = simulated->best().open_batch;
  out.found = measured(simulated->throughput.mean);
  if (simulated->full_kv) out.full_kv_found = measured(simulated->full_kv->mean);
  return out;
}

std::string export_plan(const scenario::Scenario& scenario, const ExportedPlan& plan, std::string_view engine) {
  if (const EngineExport* found = find_engine_export(engine)) return found->write(scenario, plan);
  std::vector<std::string_view> names;
  for (const EngineExport* each : engine_exports()) names.push_back(each->name);
  throw schema::InputError(fmt::format("--export {}: unknown engine, expected {}", engine, fmt::join(names, " or ")));
}

namespace {

constexpr std::size_t kWidth = 100;

std::string without_control_characters(std::string_view text) {
  std::string safe(text);
  std::replace_if(
      safe.begin(), safe.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return safe;
}

std::string plan_in_words(const ExportedPlan& plan) {
  const OperatingPoint& p = plan.point;
  if (p.x == 0) return fmt::format("decode with the full KV, {} at once", plan.requests());
  const std::string what = fmt::format("x = {}, c = {:g}", p.x, p.c);
  if (plan.open_batch) return fmt::format("{}, {} at once", what, plan.requests());
  return fmt::format("{}, B_c = {}, B_g = {}, l = {}", what, p.batch.B_c, p.batch.B_g, p.batch.l);
}

/// The most that a distribution draws; 0 where it has no end of its own.
std::int64_t longest(const models::LengthSpec& length) {
  switch (length.distribution) {
    case models::Distribution::fixed:
      return static_cast<std::int64_t>(std::ceil(length.mean));
    case models::Distribution::empirical:
      return length.values.empty() ? 0 : *std::max_element(length.values.begin(), length.values.end());
    default:
      return length.max < models::max_request_tokens ? length.max : 0;
  }
}

/// Longest prefix of all kinds of prefixes.
std::int64_t longest_prefix(const models::SharedPrefixSpec& prefixes) {
  std::int64_t tokens = 0;
  for (const models::PrefixKind& kind : prefix_kinds(prefixes)) {
    const std::int64_t most = longest(kind.tokens);
    if (most == 0) return 0;
    tokens = std::max(tokens, most);
  }
  return tokens;
}

}  // namespace

std::string comment(std::string_view text, std::string_view indent) {
  std::istringstream words(without_control_characters(text));
  const std::string begin = std::string(indent) + "#";
  std::string result, line = begin, word;
  while (words >> word) {
    if (line.size() + 1 + word.size() > kWidth && line != begin) {
      result += line + "\n";
      line = begin + "  ";
    }
    line += " " + word;
  }
  return result + line + "\n";
}

std::string heading(const scenario::Scenario& s, const ExportedPlan& plan, std::string_view engine,
                    std::string_view checked) {
  std::string text = comment(fmt::format("{} configuration for one replica of: {}", engine, s.name));
  text += comment(fmt::format("Plan: {}; {}.", plan_in_words(plan), plan.found));
  return text + comment(checked);
}

std::string left_out(const scenario::Scenario& s, const ExportedPlan& plan) {
  const serving::ServingConfig& c = s.serving;
  const OperatingPoint& p = plan.point;
  std::vector<std::string> missing;
  if (p.x > 0) {
    missing.push_back(fmt::format(
        "drafting {} tokens at a time on compressed KV and verifying them against the full KV: needs an engine that "
        "keeps both for a request and runs both kinds of step. Speculative decoding as engines have it drafts with "
        "another model or with n-grams",
        p.x));
    missing.push_back(fmt::format("keep ratio {:g} by {}: needs the compressor in the engine's KV manager", p.c,
                                  c.decode.compressor.name));
    const std::string batch =
        plan.open_batch ? fmt::format("{} at once, offloaded", plan.requests())
                        : fmt::format("B_c = {} offloaded beside B_g = {} resident requests", p.batch.B_c, p.batch.B_g);
    missing.push_back(batch +
                      ": needs a scheduler that pins the full KV of some requests and streams that of the others");
    if (p.batch.B_c > 0 && !plan.open_batch)
      missing.push_back(
          fmt::format("reloads spread over l = {} iterations: needs transfers that the scheduler paces", p.batch.l));
    const bool verifies = serving::find_decode_policy(c.decode.policy)->verifies;
    missing.push_back(fmt::format("the {} schedule of verifications: needs a scheduler that looks {} iterations ahead",
                                  verifies ? c.schedule.policy : "staggered", c.schedule.window));
  }
  missing.push_back(fmt::format(
      "the host link, {} to the GPU per GPU: a property of the machine, which the engine finds as it is",
      schema::round_quantity(schema::Dimension::bandwidth, c.cluster.uniform().host_link.read_bytes_per_s.value)));
  if (c.cluster.replicas() > 1) {
    missing.push_back(fmt::format("{} replicas behind a {} router: start this once for each, behind a router",
                                  c.cluster.replicas(), c.cluster.router));
  }
  std::string text = comment("What could not be expressed, and what it would need:");
  for (const std::string& one : missing) text += comment("- " + one + ".");
  if (p.x > 0) {
    const std::string& rate = plan.full_kv_found;
    text += comment(fmt::format("So this configuration serves the full-KV baseline of the plan: {}.",
                                rate.empty() ? "nothing, since not even one full KV fits" : rate));
  }
  return text;
}

std::int64_t full_kv_requests(const ExportedPlan& plan) {
  const std::optional<OperatingPoint> point =
      plan.point.x == 0 && plan.point.c >= 1 ? std::optional(plan.point) : plan.full_kv;
  return point ? std::max<std::int64_t>(1, point->batch.requests()) : 1;
}

bool uses_host_memory(const scenario::Scenario& s, const ExportedPlan& plan) {
  return s.serving.prefill == serving::PrefillKind::stored || plan.point.batch.B_c > 0;
}

std::int64_t longest_request(const scenario::Scenario& s) {
  const std::int64_t most = s.serving.model.max_context;
  if (s.trace) {
    std::int64_t tokens = 1;
    for (const models::RequestSpec& r : *s.trace) tokens = std::max(tokens, r.prompt_tokens + r.output_tokens);
    return std::min(tokens, most);
  }
  if (!s.workload.context || !s.workload.output || s.workload.sessions) return most;
  const std::int64_t context = longest(*s.workload.context), output = longest(*s.workload.output);
  const std::int64_t prefix = s.workload.prefixes ? longest_prefix(*s.workload.prefixes) : 0;
  const std::int64_t chunks = s.workload.chunks ? s.workload.chunks->tokens_per_request() : 0;
  const bool bounded = context > 0 && output > 0 && (prefix > 0 || !s.workload.prefixes);
  return bounded ? std::min(prefix + chunks + context + output, most) : most;
}

}  // namespace kvsim::planner

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

std::string export_plan(const scenario::Scenario& scenario, const ScenarioPlan& plan, std::string_view engine) {
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

std::string plan_in_words(const OperatingPoint& p) {
  if (p.x == 0) return fmt::format("decode with the full KV, {} requests at once", p.batch.requests());
  return fmt::format("x = {}, c = {:g}, B_c = {}, B_g = {}, l = {}", p.x, p.c, p.batch.B_c, p.batch.B_g, p.batch.l);
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

/// The same of all kinds of prefixes.
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

std::string heading(const scenario::Scenario& s, const ScenarioPlan& plan, std::string_view engine,
                    std::string_view checked) {
  std::string text = comment(fmt::format("{} configuration for one replica of: {}", engine, s.name));
  text += comment(fmt::format("Plan: {}; {:.4g} tokens/s by the closed forms ({}).", plan_in_words(plan.optimum),
                              plan.optimum.throughput_tokens_per_s, name_of(plan.request.model)));
  return text + comment(checked);
}

std::string left_out(const scenario::Scenario& s, const ScenarioPlan& plan) {
  const serving::ServingConfig& c = s.serving;
  const OperatingPoint& p = plan.optimum;
  std::vector<std::string> missing;
  if (p.x > 0) {
    missing.push_back(fmt::format(
        "drafting {} tokens at a time on compressed KV and verifying them against the full KV: needs an engine that "
        "keeps both for a request and runs both kinds of step. Speculative decoding as engines have it drafts with "
        "another model or with n-grams",
        p.x));
    missing.push_back(fmt::format("keep ratio {:g} by {}: needs the compressor in the engine's KV manager", p.c,
                                  c.decode.compressor.name));
    missing.push_back(
        fmt::format("B_c = {} offloaded beside B_g = {} resident requests: needs a scheduler that pins the full KV of "
                    "some requests and streams that of the others",
                    p.batch.B_c, p.batch.B_g));
    if (p.batch.B_c > 0)
      missing.push_back(
          fmt::format("reloads spread over l = {} iterations: needs transfers that the scheduler paces", p.batch.l));
    const bool verifies = serving::find_decode_policy(c.decode.policy)->verifies;
    missing.push_back(fmt::format("the {} schedule of verifications: needs a scheduler that looks {} iterations ahead",
                                  verifies ? c.schedule.policy : "staggered", c.schedule.window));
  }
  missing.push_back(
      fmt::format("the host link, {} to the GPU per GPU: a property of the machine, which the engine finds as it is",
                  schema::round_quantity(schema::Dimension::bandwidth, c.cluster.host_link.read_bytes_per_s.value)));
  if (c.cluster.replicas > 1) {
    missing.push_back(fmt::format("{} replicas behind a {} router: start this once for each, behind a router",
                                  c.cluster.replicas, c.cluster.router));
  }
  std::string text = comment("What could not be expressed, and what it would need:");
  for (const std::string& one : missing) text += comment("- " + one + ".");
  if (p.x > 0) {
    const std::string rate = plan.full_kv ? fmt::format("{:.4g} tokens/s", plan.full_kv->throughput_tokens_per_s)
                                          : std::string("nothing, since not even one full KV fits");
    text += comment(
        fmt::format("So this configuration serves the full-KV baseline of the plan: by the closed forms {}.", rate));
  }
  return text;
}

std::int64_t full_kv_requests(const ScenarioPlan& plan) {
  const std::optional<OperatingPoint> point =
      plan.optimum.x == 0 && plan.optimum.c >= 1 ? std::optional(plan.optimum) : plan.full_kv;
  return point ? std::max<std::int64_t>(1, point->batch.requests()) : 1;
}

bool uses_host_memory(const scenario::Scenario& s, const ScenarioPlan& plan) {
  return s.serving.prefill == serving::PrefillKind::stored || plan.optimum.batch.B_c > 0;
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

#include "tools/results/fetch_results.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "models/hardware/link_spec.h"
#include "models/kernels/step_time.h"
#include "models/prefetch/prefetch_spec.h"
#include "planner/prefetch/prefetch_plan.h"
#include "planner/prefetch/step_outlook.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/fetching.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using serving::Fetch;
using serving::FetchMeasurement;

constexpr std::string_view kNoStep = "nothing was decoded in the measured time";
constexpr std::string_view kNoFetch = "nothing was fetched in the measured time";

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kFetchDefinitions{{
    {"fetch.mean_batch",
     "requests that decoded, mean over all iterations; mean_context: their tokens, prompt and output"},
    {"fetch.steps",
     "iterations with a fetch, waiting_steps: those that waited; link_s: time of their fetches on the link; copies: "
     "how "
     "rows are copied (decode.prefetch.copies)"},
    {"fetch.resident_fraction",
     "KV bytes on the GPU over those of a 16-bit cache at the mean context: bits/16 + 2/g + R/L for a low-bit copy, R "
     "the tokens kept or fetched in 16 bit; the share of layers that fit for full_offload"},
    {"fetch.row_bytes", "bytes of one scattered row; a link moves rows at row_bytes_per_s and long copies at its read"},
    {"fetch.bytes", "asked for beside computing, over all steps; unused_bytes: for a token that never was decoded"},
    {"fetch.hidden",
     "1 - wait / link time of all fetches: the share of fetching that computing hid; wait: the GPU stood still, for "
     "fetches or for loads ahead of them in the link's queue"},
    {"fetch.first_choices", "pre-decode steps of requests: a speculative token chooses the first pairs, no output"},
    {"fetch.quality",
     "share_of_keys: fetched pairs / context; mass: attention mass of a token's own top-k; hit_rate: of it, what the "
     "fetched set covers; recovered: of the score that quantising lost, what comes back; at the mean context"},
    {"fetch.two_token_cost",
     "time of a step with one more query token a request over that of one, less 1, at the mean batch and context"},
    {"fetch.two_token_batch",
     "the smallest batch at which that reaches 5 % on this machine; two_token_batch_always: from which on it always "
     "does "
     "(the cost may fall again in between)"},
}};

/// What follows from the configuration and the mean request of the run.
class Means {
 public:
  const serving::ServingConfig& config;
  const serving::DecodePolicy& decode;
  const FetchMeasurement& measured;
  serving::KvGeometry geometry;
  double batch = std::numeric_limits<double>::quiet_NaN();
  std::int64_t context = 0;  ///< 0: nothing was decoded

  explicit Means(const Outcome& outcome)
      : config(outcome.scenario.serving),
        decode(*serving::find_decode_policy(config.decode.policy)),
        measured(outcome.result.measured.fetch),
        geometry(serving::replica_geometry(config)) {
    const auto requests = static_cast<double>(measured.request_steps);
    if (requests <= 0) return;
    context = std::llround(measured.context_tokens / requests);
    const std::size_t steps = outcome.result.measured.iteration_s.count();
    if (steps > 0) batch = requests / static_cast<double>(steps);
  }

  [[nodiscard]] double resident_fraction() const {
    return geometry.compressed_read(context, 0) / geometry.full_read(context);
  }
  /// Of a context that is long enough to choose from.
  [[nodiscard]] models::LayerFetch rows() const {
    return models::layer_fetch(config.decode.prefetch, config.model, config.cluster.tensor_parallel,
                               config.model.max_context);
  }
  [[nodiscard]] const models::GatherMethod* method() const {
    return models::find_gather(config.cluster.host_link, config.decode.prefetch.copies, rows().row_bytes);
  }
  [[nodiscard]] double row_rate() const {
    return models::gathered_bytes_per_s(config.cluster.host_link, *method(), rows().row_bytes);
  }
  [[nodiscard]] double hidden() const { return std::max(0.0, 1.0 - measured.wait_s / measured.fetch_s); }

  /// None where nothing was decoded.
  [[nodiscard]] std::optional<models::PrefetchQuality> quality() const {
    if (context == 0) return std::nullopt;
    return models::prefetch_quality(config.decode.prefetch, config.decode.compressor, context,
                                    decode.fetch == Fetch::speculative);
  }

  /// What one more query token a request costs on this machine at the mean batch.
  [[nodiscard]] double two_token_cost() const {
    return models::two_token_cost(planner::step_timer(config), two_tokens(), std::max(batch, 1.0));
  }
  [[nodiscard]] models::TwoTokenBatches two_token_batches() const {
    return models::two_token_batches(planner::step_timer(config), two_tokens(), planner::kLargestBatch,
                                     planner::kFreeShare);
  }

 private:
  [[nodiscard]] models::TwoTokenWork two_tokens() const {
    models::StepWork work;
    serving::add_low_bit_decode(work, geometry, context, 0, 1, serving::low_bit_time_factor(config));
    return {work.decode.kv_bytes, static_cast<double>(context)};
  }
};

Section quality_section(Section s, const Means& means) {
  const auto q = means.quality();
  constexpr std::string_view kNoFigures = "the compressor has no quality figures";
  const auto number = [&](std::string_view key, double models::PrefetchQuality::*value) {
    q ? s.number(key, (*q).*value, kNoFigures) : s.missing(key, kNoStep);
  };
  number("share_of_keys", &models::PrefetchQuality::share_of_keys);
  number("mass", &models::PrefetchQuality::mass);
  number("hit_rate", &models::PrefetchQuality::hit_rate);
  number("covered", &models::PrefetchQuality::covered);
  number("recovered", &models::PrefetchQuality::recovered);
  number("score", &models::PrefetchQuality::score);
  return s;
}

/// Every key of the policy, whether or not anything was decoded.
Section fetch_section(Section s, const Means& means) {
  const FetchMeasurement& m = means.measured;
  const bool any = means.context > 0;
  const auto number = [&](std::string_view key, auto value) {
    any ? s.number(key, value(), kNoFetch) : s.missing(key, kNoStep);
  };
  s.number("mean_batch", means.batch, kNoStep);
  number("mean_context", [&] { return static_cast<double>(means.context); });
  number("resident_fraction", [&] { return means.resident_fraction(); });
  if (means.decode.fetch != Fetch::none) {
    s.count("steps", m.steps).count("bytes", m.bytes).count("unused_bytes", m.unused_bytes);
    s.ratio("bytes_per_request_step", static_cast<double>(m.bytes), static_cast<double>(m.request_steps), kNoStep);
    s.number("link_s", m.fetch_s, kNoFetch).number("wait_s", m.wait_s, kNoFetch);
    s.count("waiting_steps", m.waiting_steps).count("first_choices", m.first_choices);
    number("hidden", [&] { return means.hidden(); });
  }
  if (!means.decode.fetches_pairs()) return s;
  s.set("copies", any ? Json(means.method()->name) : Json(means.config.decode.prefetch.copies));
  number("row_bytes", [&] { return means.rows().row_bytes; });
  number("row_bytes_per_s", [&] { return means.row_rate(); });
  s.set("quality", quality_section(s.child("quality"), means));
  if (means.decode.fetch != Fetch::speculative) return s;
  number("two_token_cost", [&] { return means.two_token_cost(); });
  const models::TwoTokenBatches batches = any ? means.two_token_batches() : models::TwoTokenBatches{};
  const std::string never = fmt::format("not up to a batch of {} on this machine", whole(planner::kLargestBatch));
  const auto batch = [&](std::string_view key, const std::optional<std::int64_t>& value) {
    value ? s.count(key, *value) : s.missing(key, any ? never : std::string(kNoStep));
  };
  batch("two_token_batch", batches.first);
  batch("two_token_batch_always", batches.always);
  return s;
}

/// "at least 5 % at a batch of 34, and from 65 on".
std::string costs_from(const models::TwoTokenBatches& batches) {
  if (!batches.first) return "never 5 % on this machine";
  if (batches.always == batches.first) return fmt::format("at least 5 % from a batch of {} on", whole(*batches.first));
  const std::string first = fmt::format("at least 5 % at a batch of {}", whole(*batches.first));
  return batches.always ? fmt::format("{}, and from {} on", first, whole(*batches.always)) : first + ", not for good";
}

}  // namespace

bool holds_low_bit_copy_or_fetches(const scenario::Scenario& scenario) {
  const serving::DecodePolicy& decode = *serving::find_decode_policy(scenario.serving.decode.policy);
  return decode.low_bit_copy || decode.fetch != Fetch::none;
}

void add_fetch(Section& document, const Outcome& outcome) {
  if (!holds_low_bit_copy_or_fetches(outcome.scenario)) return;
  document.set("fetch", fetch_section(document.child("fetch"), Means(outcome)));
}

Table fetch_table(const Outcome& outcome) {
  const Means means(outcome);
  const FetchMeasurement& m = means.measured;
  Table t = key_figures(means.decode.fetch == Fetch::none ? "Low-bit copy" : "Fetching");
  if (means.context == 0) {
    t.rows.push_back({"steps", "0", "", std::string(kNoStep)});
    return t;
  }
  t.rows.push_back({"resident", percent(means.resident_fraction()), "",
                    fmt::format("of a 16-bit cache, at the mean context of {} tokens", whole(means.context))});
  t.rows.push_back({"batch", figure(means.batch), "", "requests decoding, on average"});
  if (means.decode.fetch == Fetch::none) return t;
  t.rows.push_back({"moved a step",
                    bytes(static_cast<double>(m.bytes) / static_cast<double>(std::max<std::uint64_t>(m.steps, 1))), "",
                    fmt::format("{} of it for tokens that were never decoded",
                                percent(static_cast<double>(m.unused_bytes) /
                                        static_cast<double>(std::max<std::int64_t>(m.bytes, 1))))});
  if (means.decode.fetches_pairs()) {
    t.rows.push_back(
        {"rows", bytes(means.rows().row_bytes), "",
         fmt::format("each; {} moves them at {}/s, long copies go at {}/s", means.method()->name,
                     bytes(means.row_rate()), bytes(means.config.cluster.host_link.read_bytes_per_s.value))});
  }
  t.rows.push_back({"hidden", percent(means.hidden()), "",
                    fmt::format("of the fetching; GPUs waited {} for it, or for loads ahead of it, in {} of {} steps",
                                seconds(m.wait_s), whole(m.waiting_steps), whole(m.steps))});
  if (means.decode.fetch != Fetch::speculative) return t;
  const double cost = means.two_token_cost();
  t.rows.push_back(
      {"second token", percent(cost), "", "more a step than one token each; " + costs_from(means.two_token_batches())});
  return t;
}

std::span<const std::pair<std::string_view, std::string_view>> fetch_definitions() {
  return kFetchDefinitions;
}

}  // namespace kvsim::results
